import { grantScopes } from '../agents/scope.ts';
import { invalidClient } from '../errors.ts';
import { digestSecret } from '../ids.ts';
import { type AuthenticationInput, authenticateClient } from './client-authentication.ts';
import {
  newClaims,
  type OAuthDeps,
  type TokenResponse,
  tokenIssued,
  toTokenResponse,
} from './issue-tokens.ts';
import { formatRefreshToken } from './refresh-token-format.ts';
import type { Client, ClientSecretRow, NewGrant, NewRefreshToken, UsedSecret } from './tokens.store.ts';

/** The use of a secret that lives for a grace period is noted at most once a minute. */
const USE_STEP_MILLISECONDS = 60_000;

/** RFC 6749 §4.4: the client authenticates, then receives at most its own scopes. */
export async function clientCredentials(
  deps: OAuthDeps,
  request: AuthenticationInput & { scope: string | undefined },
): Promise<TokenResponse> {
  const [{ client, secret }] = await Promise.all([authenticateClient(deps, request), deps.outbox.refresh()]);
  const scopes = grantScopes(client.scopes, request.scope);
  const id = { grantId: deps.ids.newSortable(), sequence: 0, epoch: client.tokenEpoch };
  const claims = newClaims(deps, client, { id, scopes });
  if (claims === null) throw invalidClient(request.authorization !== undefined);

  const now = deps.clock.now();
  const refresh = newRefreshToken(deps, client, {
    clientSecretId: secret.id,
    grantId: id.grantId,
    scopes,
    now,
  });
  const grant: NewGrant = {
    agentId: client.agentId,
    now,
    usedSecret: usedSecret(secret, now),
    refreshToken: refresh?.row ?? null,
    happening: tokenIssued(deps, client, claims, 'client_credentials'),
  };
  // The signature is made while the store commits; neither needs the other.
  const [issued, accessToken] = await deps.takeTurn(client.agentId, () =>
    Promise.all([deps.tokens.issue(grant), deps.keyRing.sign(claims)]),
  );
  if (issued === null) throw invalidClient(request.authorization !== undefined);
  const refreshToken =
    refresh === null || issued.refreshTokenId === null
      ? null
      : formatRefreshToken(issued.refreshTokenId, refresh.secret);
  return toTokenResponse(claims, accessToken, refreshToken);
}

function usedSecret({ id, expiresAt, lastUsedAt }: ClientSecretRow, now: number): UsedSecret | null {
  const isNewest = expiresAt === null;
  return isNewest || (lastUsedAt ?? 0) <= now - USE_STEP_MILLISECONDS ? { id, isNewest } : null;
}

interface GrantStart {
  clientSecretId: number;
  grantId: string;
  scopes: readonly string[];
  now: number;
}

function newRefreshToken(deps: OAuthDeps, client: Client, start: GrantStart) {
  if (deps.refreshTokenSeconds === null) return null;
  const secret = deps.ids.newRefreshTokenSecret();
  const endOfGrant = start.now + deps.refreshTokenSeconds * 1000;
  const row: NewRefreshToken = {
    clientSecretId: start.clientSecretId,
    digest: digestSecret(secret),
    grantId: start.grantId,
    sequence: 0,
    tokenEpoch: client.tokenEpoch,
    scopes: start.scopes,
    expiresAt: Math.min(endOfGrant, client.expiresAt ?? endOfGrant),
  };
  return { secret, row };
}

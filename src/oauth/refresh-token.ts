import { isUsable } from '../agents/agent.ts';
import { grantScopes, narrowScopes } from '../agents/scope.ts';
import { invalidGrant, invalidScope } from '../errors.ts';
import { digestSecret, isSameDigest } from '../ids.ts';
import { LONGEST_TOKEN_SECONDS } from '../organizations/organization.ts';
import { type AuthenticationInput, authenticate, readClientCredentials } from './client-authentication.ts';
import {
  newClaims,
  type OAuthDeps,
  type TokenResponse,
  tokenIssued,
  toTokenResponse,
} from './issue-tokens.ts';
import { formatRefreshToken, parseRefreshToken } from './refresh-token-format.ts';
import type { Client, StoredRefreshToken } from './tokens.store.ts';

/** Why a refresh token does not work any more; `used` is the one that gives a thief away. */
export type RefreshTokenState = 'active' | 'used' | 'revoked' | 'expired' | 'agent_inactive';

/** RFC 6749 §6 and RFC 9700 §4.14.2: each refresh token works once, and its second use ends the whole grant. */
export async function refreshTokenGrant(
  deps: OAuthDeps,
  request: AuthenticationInput & { refreshToken: string; scope: string | undefined },
): Promise<TokenResponse> {
  const credentials = readClientCredentials(request);
  const authenticated = credentials === null ? null : await authenticate(deps, credentials);
  const [stored] = await Promise.all([findRefreshToken(deps, request.refreshToken), deps.outbox.refresh()]);
  if (stored === null) throw invalidGrant();
  if (authenticated !== null && authenticated.client.agentId !== stored.client?.agentId) throw invalidGrant();
  const state = refreshTokenState(stored, deps.clock.now());
  if (state === 'used') await endGrant(deps, stored);
  if (state !== 'active' || stored.client === null) throw invalidGrant();
  return refresh(deps, { stored, client: stored.client, requestedScope: request.scope });
}

/** A refresh token that this service issued, living or not; null where the secret is not the stored one. */
export async function findRefreshToken(
  deps: Pick<OAuthDeps, 'tokens'>,
  token: string,
): Promise<StoredRefreshToken | null> {
  const parts = parseRefreshToken(token);
  if (parts === null) return null;
  const stored = await deps.tokens.findRefreshToken(parts.id);
  return stored !== null && isSameDigest(stored.digest, parts.digest) ? stored : null;
}

export function refreshTokenState(stored: StoredRefreshToken, now: number): RefreshTokenState {
  const { client } = stored;
  if (stored.expiresAt <= now) return 'expired';
  if (stored.isGrantRevoked) return 'revoked';
  if (stored.usedAt !== null) return 'used';
  if (client === null || !isUsable(client, now)) return 'agent_inactive';
  const hasSecretEnded = stored.secretExpiresAt !== null && stored.secretExpiresAt <= now;
  return hasSecretEnded || stored.tokenEpoch !== client.tokenEpoch ? 'revoked' : 'active';
}

/** Ends every refresh and access token of the grant. */
export async function endGrant(
  deps: Pick<OAuthDeps, 'tokens' | 'clock'>,
  stored: StoredRefreshToken,
): Promise<void> {
  await deps.tokens.revoke({ id: stored.grantId, expiresAt: lastExpiryOf(deps, stored) });
}

async function refresh(
  deps: OAuthDeps,
  found: { stored: StoredRefreshToken; client: Client; requestedScope: string | undefined },
): Promise<TokenResponse> {
  const { stored, client } = found;
  const held = narrowScopes(stored.scopes, client.scopes);
  if (held.length === 0) throw invalidScope('The agent holds none of the scopes of this grant any more.');
  const scopes = grantScopes(held, found.requestedScope);
  const id = { grantId: stored.grantId, sequence: stored.sequence + 1, epoch: client.tokenEpoch };
  const claims = newClaims(deps, client, { id, scopes });
  if (claims === null) throw invalidGrant();

  const secret = deps.ids.newRefreshTokenSecret();
  const claim = {
    id: stored.id,
    agentId: client.agentId,
    now: deps.clock.now(),
    // The successor keeps the scopes and the end of the grant, whatever this request asked for.
    successor: { ...stored, sequence: id.sequence, digest: digestSecret(secret) },
    rememberUntil: lastExpiryOf(deps, stored),
    happening: tokenIssued(deps, client, claims, 'refresh_token'),
  };
  const [outcome, accessToken] = await deps.takeTurn(client.agentId, () =>
    Promise.all([deps.tokens.refresh(claim), deps.keyRing.sign(claims)]),
  );
  if (outcome.status === 'reused') throw invalidGrant();
  return toTokenResponse(claims, accessToken, formatRefreshToken(outcome.refreshTokenId, secret));
}

/**
 * When the last token of the grant has surely expired: its refresh tokens, or an access token issued just now; with as much
 * again, since the clock may have been ahead when that was issued.
 */
const lastExpiryOf = ({ clock }: Pick<OAuthDeps, 'clock'>, stored: StoredRefreshToken): number =>
  Math.max(stored.expiresAt, clock.now() + 2 * LONGEST_TOKEN_SECONDS * 1000);

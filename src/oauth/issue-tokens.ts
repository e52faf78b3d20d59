import { subjectOf } from '../agents/agents.service.ts';
import { formatScope } from '../agents/scope.ts';
import { type Clock, toSeconds, toTimestamp } from '../clock.ts';
import type { EventData } from '../events/event.ts';
import type { Happening, Outbox } from '../events/outbox.ts';
import type { Ids } from '../ids.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import {
  type AccessTokenClaims,
  formatTokenId,
  type TokenId,
  type VerifyAccessToken,
} from './access-token.ts';
import type { ExpiryFloor } from './expiry-floor.ts';
import type { TakeTurn } from './grant-turns.ts';
import type { Client, Tokens } from './tokens.store.ts';

export interface OAuthDeps {
  tokens: Tokens;
  keyRing: KeyRing;
  verifyAccessToken: VerifyAccessToken;
  expiryFloor: ExpiryFloor;
  outbox: Outbox;
  clock: Clock;
  ids: Ids;
  takeTurn: TakeTurn;
  issuer: string;
  audience: string;
  accessTokenSeconds: number;
  /** null where the client credentials grant answers no refresh token (RFC 6749 §4.4.3). */
  refreshTokenSeconds: number | null;
}

/** RFC 6749 §5.1 */
export interface TokenResponse {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  scope: string;
  refresh_token?: string;
}

/** The claims of a new access token; null where the agent has less than a second left. */
export function newClaims(
  deps: OAuthDeps,
  client: Client,
  token: { id: TokenId; scopes: readonly string[] },
): AccessTokenClaims | null {
  deps.expiryFloor.notice();
  const now = deps.clock.now();
  const lifetime = tokenLifetimeSeconds(deps, client, now);
  if (lifetime < 1) return null;
  const iat = toSeconds(now);
  return {
    iss: deps.issuer,
    aud: deps.audience,
    sub: client.agentId,
    client_id: client.clientId,
    iat,
    exp: iat + lifetime,
    jti: formatTokenId(token.id),
    scope: formatScope(token.scopes),
    ...(client.organizationId !== null && { org_id: client.organizationId }),
    ...(client.teamId !== null && { team_id: client.teamId }),
  };
}

export const toTokenResponse = (
  claims: AccessTokenClaims,
  accessToken: string,
  refreshToken: string | null,
): TokenResponse => ({
  access_token: accessToken,
  token_type: 'Bearer',
  expires_in: claims.exp - claims.iat,
  scope: claims.scope,
  ...(refreshToken !== null && { refresh_token: refreshToken }),
});

/** What is to be told of a token with the transaction that stores it; null where nobody would hear it. */
export function tokenIssued(
  { outbox }: OAuthDeps,
  client: Client,
  claims: AccessTokenClaims,
  grantType: EventData['token.issued']['grant_type'],
): Happening | null {
  if (!outbox.hasSubscriber('token.issued')) return null;
  return {
    type: 'token.issued',
    data: {
      ...subjectOf({ ...client, id: client.agentId }),
      grant_type: grantType,
      token_id: claims.jti,
      scope: claims.scope,
      expires_at: toTimestamp(claims.exp * 1000),
    },
  };
}

/** A token outlives neither what its organization allows nor its agent. */
function tokenLifetimeSeconds(deps: OAuthDeps, client: Client, now: number): number {
  const allowed = client.jwtExpirySeconds ?? deps.accessTokenSeconds;
  return client.expiresAt === null ? allowed : Math.min(allowed, toSeconds(client.expiresAt - now));
}

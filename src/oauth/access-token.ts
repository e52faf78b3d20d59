import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { KeyRing } from '../keys/key-ring.ts';

/** RFC 9068 §2.2. Times are seconds since the Unix epoch. */
export interface AccessTokenClaims {
  iss: string;
  aud: string;
  sub: string;
  client_id: string;
  iat: number;
  exp: number;
  jti: string;
  scope: string;
  org_id?: string;
  team_id?: string;
}

/**
 * What a `jti` is made of. `grantId` is shared by all tokens of one grant, which end together; `sequence` counts its
 * refreshes; `epoch` is the agent's, so that all of its tokens can be ended by counting it up.
 */
export interface TokenId {
  grantId: string;
  sequence: number;
  epoch: number;
}

export const formatTokenId = ({ grantId, sequence, epoch }: TokenId): string =>
  `${grantId}-${sequence}-${epoch}`;

export function parseTokenId(jti: string): TokenId {
  const [grantId, sequence, epoch] = jti.split('-');
  return { grantId: grantId ?? '', sequence: Number(sequence), epoch: Number(epoch) };
}

/** No access token of ours comes near it. */
const LONGEST_TOKEN = 8192;
const CACHED_TOKENS = 20_000;

export type VerifyAccessToken = (token: string) => Promise<AccessTokenClaims | null>;

/**
 * Verifies signature and issuer, and remembers the claims of what was genuine: the signature of a token cannot become
 * wrong. Whether the token still lives is asked of the clock and the store each time, never of this.
 */
export function createAccessTokenVerifier(deps: {
  keyRing: Pick<KeyRing, 'verify' | 'isOfUnknownKey' | 'refresh'>;
  issuer: string;
}): VerifyAccessToken {
  const genuine = new LRUCache<string, AccessTokenClaims>({ max: CACHED_TOKENS });
  return async (token) => {
    if (token.length > LONGEST_TOKEN) return null;
    const key = hash('sha256', token, 'base64');
    const known = genuine.get(key);
    if (known !== undefined) return known;
    // Another process may have signed it, by a key that it made a moment ago.
    if (deps.keyRing.isOfUnknownKey(token)) await deps.keyRing.refresh();
    const claims = deps.keyRing.verify(token) as AccessTokenClaims | null;
    if (claims === null || claims.iss !== deps.issuer) return null;
    genuine.set(key, claims);
    return claims;
  };
}

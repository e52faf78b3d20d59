import { foreignToken } from '../errors.ts';

import type { OAuthDeps } from './issue-tokens.ts';
import { endGrant, findRefreshToken } from './refresh-token.ts';
import type { Client } from './tokens.store.ts';

/**
 * RFC 7009 §2: revoking a refresh token ends its whole grant, access tokens included. A token that is unknown or has
 * ended is not an error: the caller wanted it dead, and dead it is. A caller who had to authenticate ends his own alone.
 */
export async function revokeToken(deps: OAuthDeps, token: string, caller: Client | null): Promise<void> {
  if (token.startsWith('rt_')) {
    const stored = await findRefreshToken(deps, token);
    if (stored === null) return;
    if (caller !== null && caller.agentId !== stored.client?.agentId) throw foreignToken();
    await endGrant(deps, stored);
    return;
  }
  const claims = await deps.verifyAccessToken(token);
  // One that has merely expired may be young again once the clock is set right.
  if (claims === null || deps.expiryFloor.hasEnded(claims)) return;
  if (caller !== null && caller.agentId !== claims.sub) throw foreignToken();
  await deps.tokens.revoke({ id: claims.jti, expiresAt: claims.exp * 1000 });
}

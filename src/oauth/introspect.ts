import { isUsable } from '../agents/agent.ts';
import { subjectOf } from '../agents/agents.service.ts';
import { formatScope, narrowScopes, splitScope } from '../agents/scope.ts';
import { toSeconds } from '../clock.ts';
import type { Happening } from '../events/outbox.ts';
import { type AccessTokenClaims, formatTokenId, parseTokenId } from './access-token.ts';
import type { OAuthDeps } from './issue-tokens.ts';
import { findRefreshToken, refreshTokenState } from './refresh-token.ts';
import type { TokenAgent } from './tokens.store.ts';

export type InactiveReason = 'revoked' | 'expired' | 'agent_inactive' | 'invalid';

/** What a token is worth right now. Of one that this service did not sign nothing is said but `invalid`. */
export type Inspection =
  | { isActive: true; tokenType: 'Bearer' | 'refresh_token'; agent: TokenAgent; token: InspectedToken }
  | { isActive: false; reason: InactiveReason; agent: TokenAgent | null; tokenId: string | null };

interface InspectedToken {
  id: string;
  aud: string;
  scopes: readonly string[];
  iat: number;
  exp: number;
}

const invalid: Inspection = { isActive: false, reason: 'invalid', agent: null, tokenId: null };

export async function inspectAccessToken(deps: OAuthDeps, token: string): Promise<Inspection> {
  const claims = await deps.verifyAccessToken(token);
  if (claims === null) return invalid;
  const id = parseTokenId(claims.jti);
  const lookup = { agentId: claims.sub, tokenId: claims.jti, grantId: id.grantId };
  const { agent, isRevoked } = await deps.tokens.findTokenState(lookup);
  const now = deps.clock.now();
  const inactive = (reason: InactiveReason): Inspection => ({
    isActive: false,
    reason,
    agent,
    tokenId: claims.jti,
  });
  if (claims.exp * 1000 <= now || deps.expiryFloor.hasEnded(claims)) return inactive('expired');
  if (isRevoked) return inactive('revoked');
  if (agent === null || !isUsable(agent, now)) return inactive('agent_inactive');
  if (agent.tokenEpoch !== id.epoch) return inactive('revoked');
  return { isActive: true, tokenType: 'Bearer', agent, token: inspected(claims, agent) };
}

export async function inspectToken(deps: OAuthDeps, token: string): Promise<Inspection> {
  return token.startsWith('rt_') ? inspectRefreshToken(deps, token) : inspectAccessToken(deps, token);
}

async function inspectRefreshToken(deps: OAuthDeps, token: string): Promise<Inspection> {
  const stored = await findRefreshToken(deps, token);
  if (stored === null) return invalid;
  const agent = stored.client;
  const tokenId = `rt-${formatTokenId({ ...stored, epoch: stored.tokenEpoch })}`;
  const state = refreshTokenState(stored, deps.clock.now());
  if (state !== 'active' || agent === null) {
    const reason = state === 'used' || state === 'active' ? 'revoked' : state;
    return { isActive: false, reason, agent, tokenId };
  }
  const times = { iat: toSeconds(stored.issuedAt), exp: toSeconds(stored.expiresAt) };
  const scopes = narrowScopes(stored.scopes, agent.scopes);
  return {
    isActive: true,
    tokenType: 'refresh_token',
    agent,
    token: { id: tokenId, aud: deps.audience, scopes, ...times },
  };
}

/** A scope that the agent has lost is lost to its living tokens too. */
const inspected = (claims: AccessTokenClaims, agent: TokenAgent): InspectedToken => ({
  id: claims.jti,
  aud: claims.aud,
  scopes: narrowScopes(splitScope(claims.scope), agent.scopes),
  iat: claims.iat,
  exp: claims.exp,
});

/** RFC 7662 §2.2, which advises against telling why a token is not active: that is a setting. */
export function toIntrospectionResponse(deps: OAuthDeps & { hasReasons: boolean }, inspection: Inspection) {
  if (!inspection.isActive) {
    return { active: false as const, ...(deps.hasReasons && { reason: inspection.reason }) };
  }
  const { agent, token, tokenType } = inspection;
  return {
    active: true as const,
    scope: formatScope(token.scopes),
    client_id: agent.clientId,
    token_type: tokenType,
    exp: token.exp,
    iat: token.iat,
    sub: agent.agentId,
    iss: deps.issuer,
    aud: token.aud,
    jti: token.id,
    ...(agent.organizationId !== null && { org_id: agent.organizationId }),
  };
}

/** An introspection is an event of its own, where somebody subscribes to it. */
export async function announceInspection({ outbox }: OAuthDeps, inspection: Inspection): Promise<void> {
  const happening = happeningOf(inspection);
  if (outbox.hasSubscriber(happening.type)) await outbox.announce(happening);
}

function happeningOf(inspection: Inspection): Happening {
  if (!inspection.isActive) {
    const { agent, reason, tokenId } = inspection;
    const subject = agent === null ? {} : subjectOf({ ...agent, id: agent.agentId });
    return { type: 'token.validation_failed', data: { ...subject, reason, token_id: tokenId } };
  }
  const { agent, token, tokenType } = inspection;
  return {
    type: 'token.validation_success',
    data: {
      ...subjectOf({ ...agent, id: agent.agentId }),
      token_type: tokenType === 'Bearer' ? 'access_token' : 'refresh_token',
      token_id: token.id,
      scope: formatScope(token.scopes),
    },
  };
}

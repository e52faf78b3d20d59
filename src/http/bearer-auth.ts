import type { onRequestAsyncHookHandler } from 'fastify';
import { invalidToken, missingToken } from '../errors.ts';
import { type InactiveReason, inspectAccessToken } from '../oauth/introspect.ts';
import type { OAuthDeps } from '../oauth/issue-tokens.ts';

const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

const explanations: Record<InactiveReason, string> = {
  revoked: 'The access token was revoked.',
  expired: 'The access token has expired.',
  agent_inactive: 'The agent of the access token is not active.',
  invalid: 'The access token was not issued by this service.',
};

/** RFC 6750 §2.1, the header alone: a token in a URL or a body is not looked at. */
export function bearerAuth(deps: OAuthDeps): onRequestAsyncHookHandler {
  return async (request) => {
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) throw missingToken();
    const inspection = await inspectAccessToken(deps, token);
    if (!inspection.isActive) throw invalidToken(explanations[inspection.reason]);
    const { agentId, name } = inspection.agent;
    request.bearer = { agentId, agentName: name, scopes: inspection.token.scopes };
  };
}

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import type { Database } from '../db/database.ts';
import { invalidRequest, unsupportedGrantType } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import { BODY_ERRORS, errorResponses } from '../schema.ts';
import { type AuthenticationInput, authenticateCaller } from './client-authentication.ts';
import { clientCredentials } from './client-credentials.ts';
import { announceInspection, inspectToken, toIntrospectionResponse } from './introspect.ts';
import type { OAuthDeps } from './issue-tokens.ts';
import {
  IntrospectAnswer,
  IntrospectRequest,
  RefreshRequest,
  RevokeAnswer,
  RevokeRequest,
  TokenAnswer,
  TokenRequest,
} from './oauth.schema.ts';
import { refreshTokenGrant } from './refresh-token.ts';
import { revokeToken } from './revoke.ts';

interface RoutesDeps extends OAuthDeps {
  database: Database;
  metrics: Metrics;
  isIntrospectionOpen: boolean;
}

const tags = ['oauth'];
const consumes = ['application/json', 'application/x-www-form-urlencoded'];
const GRANT_ERRORS = errorResponses(
  ...BODY_ERRORS,
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'unsupported_grant_type',
);

export const oauthRoutes: FastifyPluginAsyncTypebox<RoutesDeps> = async (app, deps) => {
  const { metrics } = deps;

  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    refuseSecretsInQuery(request.query as Record<string, unknown>);
  });

  app.addHook('preValidation', async (request) => {
    request.body = withoutEmptyParameters(request.body);
  });

  app.post(
    '/oauth/token',
    {
      schema: {
        tags,
        consumes,
        summary: 'Get tokens',
        description: 'Client credentials (RFC 6749 §4.4) or refresh token (§6) grant.',
        security: [{ client: [] }, {}],
        body: TokenRequest,
        response: { 200: TokenAnswer, ...GRANT_ERRORS },
      },
    },
    async (request) => {
      const { grant_type: grantType, refresh_token: refreshToken, scope } = request.body;
      const input = { ...authenticationOf(request), scope };
      switch (grantType) {
        case 'client_credentials':
          return metrics.token('client_credentials', () => clientCredentials(deps, input));
        case 'refresh_token':
          if (refreshToken === undefined) throw invalidRequest('refresh_token: it is missing.');
          return metrics.token('refresh_token', () => refreshTokenGrant(deps, { ...input, refreshToken }));
        default:
          throw unsupportedGrantType('client_credentials or refresh_token');
      }
    },
  );

  app.post(
    '/oauth/refresh',
    {
      schema: {
        tags,
        consumes,
        summary: 'Refresh tokens',
        description: 'A refresh token works once; using it again ends all tokens that came from it.',
        security: [{ client: [] }, {}],
        body: RefreshRequest,
        response: { 200: TokenAnswer, ...GRANT_ERRORS },
      },
    },
    async (request) => {
      const { grant_type: grantType, refresh_token: refreshToken, scope } = request.body;
      if (grantType !== 'refresh_token') throw unsupportedGrantType('refresh_token');
      const input = { ...authenticationOf(request), refreshToken, scope };
      return metrics.token('refresh_token', () => refreshTokenGrant(deps, input));
    },
  );

  app.post(
    '/oauth/introspect',
    {
      schema: {
        tags,
        consumes,
        summary: 'Ask whether a token is active',
        description: 'RFC 7662. Of a token that this service did not sign nothing is said but `invalid`.',
        security: deps.isIntrospectionOpen ? [{}] : [{ client: [] }],
        body: IntrospectRequest,
        response: { 200: IntrospectAnswer, ...errorResponses(...BODY_ERRORS, 'invalid_client') },
      },
    },
    async (request) => {
      if (!deps.isIntrospectionOpen) await authenticateCaller(deps, authenticationOf(request));
      return metrics.introspection(async () => {
        const [inspection] = await Promise.all([
          inspectToken(deps, request.body.token),
          deps.outbox.refresh(),
        ]);
        await announceInspection(deps, inspection);
        return toIntrospectionResponse(deps, inspection);
      });
    },
  );

  app.post(
    '/oauth/revoke',
    {
      schema: {
        tags,
        consumes,
        summary: 'Revoke a token',
        description:
          'RFC 7009. A refresh token ends with all tokens of its grant. Unknown tokens are answered alike.',
        security: [{}],
        body: RevokeRequest,
        response: { 200: RevokeAnswer, ...errorResponses(...BODY_ERRORS) },
      },
    },
    async (request) => {
      await revokeToken(deps, request.body.token);
      return { status: 'revoked' as const };
    },
  );
};

/** RFC 6749 §3.2: a parameter without a value counts as not sent. */
function withoutEmptyParameters(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== ''));
}

function authenticationOf(request: FastifyRequest): AuthenticationInput {
  return {
    authorization: request.headers.authorization,
    body: request.body as AuthenticationInput['body'],
  };
}

const SECRET_PARAMETERS = ['client_secret', 'refresh_token', 'token', 'access_token', 'client_assertion'];

/** RFC 6749 §2.3.1: what stands in a URL ends up in logs and histories. */
function refuseSecretsInQuery(query: Record<string, unknown>): void {
  const found = SECRET_PARAMETERS.find((name) => name in query);
  if (found === undefined) return;
  throw invalidRequest(`${found}: send it in the body. A secret in a URL is a secret in every log.`);
}

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { errorResponses } from '../schema.ts';

interface Deps {
  issuer: string;
  scopes: readonly string[];
  isIntrospectionOpen: boolean;
  isRevocationOpen: boolean;
  /** null where no refresh tokens are issued. */
  refreshTokenSeconds: number | null;
}

const Uri = Type.String({ examples: ['https://signet.example/oauth/token'] });
const Names = Type.Array(Type.String());

const Metadata = Type.Object({
  issuer: Uri,
  token_endpoint: Uri,
  introspection_endpoint: Uri,
  revocation_endpoint: Uri,
  jwks_uri: Uri,
  scopes_supported: Names,
  response_types_supported: Names,
  grant_types_supported: Names,
  token_endpoint_auth_methods_supported: Names,
  introspection_endpoint_auth_methods_supported: Names,
  revocation_endpoint_auth_methods_supported: Names,
  service_documentation: Uri,
});

const CLIENT_METHODS = ['client_secret_basic', 'client_secret_post'];

/** RFC 8414 §3: where a client that knows the issuer finds the rest. It lists what works, and nothing else. */
export const metadataRoutes: FastifyPluginAsyncTypebox<Deps> = async (app, { issuer, ...deps }) => {
  const metadata = {
    issuer,
    token_endpoint: `${issuer}/oauth/token`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    scopes_supported: [...deps.scopes],
    // Required by RFC 8414 §2, and empty: there is no authorization endpoint.
    response_types_supported: [],
    grant_types_supported:
      deps.refreshTokenSeconds === null ? ['client_credentials'] : ['client_credentials', 'refresh_token'],
    token_endpoint_auth_methods_supported: CLIENT_METHODS,
    introspection_endpoint_auth_methods_supported: deps.isIntrospectionOpen
      ? ['none', ...CLIENT_METHODS]
      : CLIENT_METHODS,
    revocation_endpoint_auth_methods_supported: deps.isRevocationOpen
      ? ['none', ...CLIENT_METHODS]
      : CLIENT_METHODS,
    service_documentation: `${issuer}/docs`,
  };

  for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']) {
    app.get(
      path,
      {
        schema: {
          tags: ['discovery'],
          security: [{}],
          summary: 'Metadata of the authorization server',
          response: { 200: Metadata, ...errorResponses() },
        },
      },
      async (_request, reply) =>
        reply
          .header('cache-control', 'public, max-age=300')
          .header('access-control-allow-origin', '*')
          .send(metadata),
    );
  }
};

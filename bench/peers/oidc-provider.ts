import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { type ClientMetadata, type JWK, Provider } from 'oidc-provider';
import type { BenchClient } from '../requests.ts';
import { type PeerSetup, serve, tokenShape } from './serve.ts';

/**
 * `oidc-provider` with its own in-memory adapter. JWT access tokens come with resource indicators; the resource is a
 * default, so that requests are the same for every peer.
 */
serve(async ({ port, origin, clients }: PeerSetup) => {
  const { audience, scope, lifetimeSeconds } = tokenShape(origin);
  const provider = new Provider(origin, {
    clients: clients.map(toMetadata),
    clientAuthMethods: ['client_secret_post'],
    scopes: scope.split(' '),
    jwks: { keys: [signingKey()] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        getResourceServerInfo: () => ({
          audience,
          scope,
          accessTokenFormat: 'jwt',
          accessTokenTTL: lifetimeSeconds,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
  await once(provider.listen(port, '127.0.0.1'), 'listening');
});

const toMetadata = ({ clientId, clientSecret }: BenchClient): ClientMetadata => ({
  client_id: clientId,
  client_secret: clientSecret,
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
  token_endpoint_auth_method: 'client_secret_post',
  scope: 'read write',
});

function signingKey(): JWK {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), kid: 'bench', use: 'sig', alg: 'RS256' } as JWK;
}

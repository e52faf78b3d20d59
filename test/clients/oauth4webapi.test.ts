import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as oauth from 'oauth4webapi';
import { startService, type TestAgent, type TestService } from '../harness.ts';

const insecure = { [oauth.allowInsecureRequests]: true };

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService();
  agent = await service.createAgent();
});
after(() => service.stop());

async function discover(algorithm: 'oauth2' | 'oidc'): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(service.url);
  const response = await oauth.discoveryRequest(issuer, { algorithm, ...insecure });
  return oauth.processDiscoveryResponse(issuer, response);
}

async function getTokens(as: oauth.AuthorizationServer, client: oauth.Client, auth: oauth.ClientAuth) {
  const response = await oauth.clientCredentialsGrantRequest(as, client, auth, {}, insecure);
  return oauth.processClientCredentialsResponse(as, client, response);
}

for (const [name, algorithm, authenticate] of [
  ['client_secret_basic', 'oauth2', () => oauth.ClientSecretBasic(agent.clientSecret)],
  ['client_secret_post', 'oidc', () => oauth.ClientSecretPost(agent.clientSecret)],
] as const) {
  test(`oauth4webapi gets, refreshes, introspects and revokes with ${name}`, async () => {
    const as = await discover(algorithm);
    const client = { client_id: agent.clientId };
    const auth = authenticate();
    assert.ok(as.token_endpoint_auth_methods_supported?.includes(name));

    const issued = await getTokens(as, client, auth);
    const refreshResponse = await oauth.refreshTokenGrantRequest(
      as,
      client,
      auth,
      issued.refresh_token ?? '',
      insecure,
    );
    const refreshed = await oauth.processRefreshTokenResponse(as, client, refreshResponse);
    const introspect = async () => {
      const response = await oauth.introspectionRequest(as, client, auth, refreshed.access_token, insecure);
      return oauth.processIntrospectionResponse(as, client, response);
    };
    assert.deepEqual([(await introspect()).active, (await introspect()).scope], [true, 'read write']);

    const revocation = await oauth.revocationRequest(as, client, auth, refreshed.access_token, insecure);
    await oauth.processRevocationResponse(revocation);
    assert.equal((await introspect()).active, false);
  });
}

test('oauth4webapi, as a resource server, takes the token for an RFC 9068 one', async () => {
  const as = await discover('oauth2');
  const client = { client_id: agent.clientId };
  const { access_token: token } = await getTokens(as, client, oauth.ClientSecretBasic(agent.clientSecret));
  const request = new Request('https://api.test/', { headers: { authorization: `Bearer ${token}` } });
  const claims = await oauth.validateJwtAccessToken(as, request, service.url, insecure);
  assert.deepEqual([claims.sub, claims.client_id], [agent.id, agent.clientId]);
  const elsewhere = oauth.validateJwtAccessToken(as, request, 'https://other.test', insecure);
  await assert.rejects(elsewhere, /aud/);
});

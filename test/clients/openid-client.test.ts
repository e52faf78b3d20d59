import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as client from 'openid-client';
import { startService, type TestAgent, type TestService } from '../harness.ts';

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService();
  agent = await service.createAgent();
});
after(() => service.stop());

const discover = (
  algorithm: 'oauth2' | 'oidc',
  authentication?: client.ClientAuth,
): Promise<client.Configuration> =>
  client.discovery(new URL(service.url), agent.clientId, agent.clientSecret, authentication, {
    algorithm,
    execute: [client.allowInsecureRequests],
  });

for (const [name, algorithm, authenticate] of [
  ['its default authentication', 'oidc', () => undefined],
  ['client_secret_basic', 'oauth2', () => client.ClientSecretBasic(agent.clientSecret)],
  ['client_secret_post', 'oidc', () => client.ClientSecretPost(agent.clientSecret)],
] as const) {
  test(`openid-client lives through a token’s whole life with ${name}`, async () => {
    const configuration = await discover(algorithm, authenticate());
    assert.equal(configuration.serverMetadata().issuer, service.url);

    const issued = await client.clientCredentialsGrant(configuration, { scope: 'read' });
    assert.deepEqual([issued.token_type, issued.scope, issued.expires_in], ['bearer', 'read', 3600]);
    const introspected = await client.tokenIntrospection(configuration, issued.access_token);
    assert.deepEqual([introspected.active, introspected.client_id], [true, agent.clientId]);

    const refreshed = await client.refreshTokenGrant(configuration, issued.refresh_token ?? '');
    assert.notEqual(refreshed.access_token, issued.access_token);
    await client.tokenRevocation(configuration, refreshed.refresh_token ?? '');
    for (const token of [issued.access_token, refreshed.access_token]) {
      assert.equal((await client.tokenIntrospection(configuration, token)).active, false);
    }
  });
}

test('openid-client reads refusals as OAuth errors', async () => {
  const configuration = await discover('oauth2');
  await assert.rejects(client.clientCredentialsGrant(configuration, { scope: 'admin' }), {
    name: 'ResponseBodyError',
    error: 'invalid_scope',
    status: 400,
  });
  await assert.rejects(client.refreshTokenGrant(configuration, 'rt_1_x'), { error: 'invalid_grant' });
  const stranger = await discover('oauth2', client.ClientSecretBasic('wrong'));
  await assert.rejects(client.clientCredentialsGrant(stranger), { code: 'OAUTH_WWW_AUTHENTICATE_CHALLENGE' });
  const posting = await discover('oauth2', client.ClientSecretPost('wrong'));
  await assert.rejects(client.clientCredentialsGrant(posting), { error: 'invalid_client', status: 401 });
});

test('openid-client calls self-service with the token', async () => {
  const configuration = await discover('oidc');
  const { access_token: token } = await client.clientCredentialsGrant(configuration);
  const url = new URL(`${service.url}/api/agents/me`);
  const response = await client.fetchProtectedResource(configuration, token, url, 'GET');
  const { agent: read } = (await response.json()) as { agent: { id: string } };
  assert.deepEqual([response.status, read.id], [200, agent.id]);
});

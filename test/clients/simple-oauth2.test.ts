import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ClientCredentials } from 'simple-oauth2';
import { startService, type TestAgent, type TestService } from '../harness.ts';
import { assertReason } from '../oauth/requests.ts';

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService();
  agent = await service.createAgent();
});
after(() => service.stop());

for (const authorizationMethod of ['header', 'body'] as const) {
  for (const bodyFormat of ['form', 'json'] as const) {
    test(`simple-oauth2 works with ${bodyFormat} bodies and credentials in the ${authorizationMethod}`, async () => {
      const client = new ClientCredentials({
        client: { id: agent.clientId, secret: agent.clientSecret },
        auth: { tokenHost: service.url },
        options: { authorizationMethod, bodyFormat },
      });
      const issued = await client.getToken({ scope: ['read', 'write'] });
      assert.equal(issued.expired(), false);
      assert.equal(issued.token['scope'], 'read write');
      const refreshed = await issued.refresh();
      const accessToken = String(refreshed.token['access_token']);
      await assertReason(service, accessToken, null);
      await refreshed.revokeAll();
      await assertReason(service, accessToken, 'revoked');
      await assertReason(service, String(refreshed.token['refresh_token']), 'revoked');
    });
  }
}

test('simple-oauth2 reads a refusal as the 401 that it is', async () => {
  const client = new ClientCredentials({
    client: { id: agent.clientId, secret: 'wrong' },
    auth: { tokenHost: service.url },
  });
  await assert.rejects(client.getToken({}), /401 Unauthorized/);
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestService } from '../harness.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

test('POST /oauth/token 200: an agent trades its credentials for a token with all of its scopes', async () => {
  const agent = await service.createAgent({ scopes: ['read', 'admin'] });
  const { status, body, headers } = await service.call('POST', '/oauth/token', {
    json: { grant_type: 'client_credentials', client_id: agent.clientId, client_secret: agent.clientSecret },
  });
  assert.equal(status, 200);
  assert.equal(body.token_type, 'Bearer');
  assert.equal(body.expires_in, 3600);
  assert.equal(body.scope, 'read admin');
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal((await service.introspect(body.access_token)).active, true);
});

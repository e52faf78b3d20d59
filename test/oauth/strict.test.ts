import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { basic, startService, type TestAgent, type TestService } from '../harness.ts';
import { assertRefused, credentialsOf } from './requests.ts';

let service: TestService;
let owner: TestAgent;
let other: TestAgent;
before(async () => {
  service = await startService({
    env: { SIGNET_REVOCATION_AUTH: 'required', SIGNET_INTROSPECTION_REASON: 'off' },
  });
  [owner, other] = [await service.createAgent(), await service.createAgent()];
});
after(() => service.stop());

const revoke = (token: string, form: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  service.call('POST', '/oauth/revoke', { form: { token, ...form }, headers });

test('SIGNET_REVOCATION_AUTH=required: a client revokes its own tokens, by either way of authenticating', async () => {
  const tokens = await service.tokens(owner);
  const authorization = basic(owner.clientId, owner.clientSecret);
  const { status, body } = await revoke(tokens.accessToken, {}, { authorization });
  assert.deepEqual([status, body], [200, { status: 'revoked' }]);
  assert.equal((await service.introspect(tokens.accessToken)).active, false);
  assert.equal((await revoke(tokens.refreshToken, credentialsOf(owner))).status, 200);
  assert.equal((await service.introspect(tokens.refreshToken)).active, false);
});

test('SIGNET_REVOCATION_AUTH=required: without right credentials nothing is revoked', async () => {
  const { accessToken, refreshToken } = await service.tokens(owner);
  for (const token of [accessToken, refreshToken, 'unknown']) {
    assertRefused(await revoke(token), 401, 'invalid_client');
    const wrong = { ...credentialsOf(owner), client_secret: 'wrong' };
    assertRefused(await revoke(token, wrong), 401, 'invalid_client');
    assertRefused(await revoke(token, { client_id: owner.clientId }), 400, 'invalid_request');
  }
  for (const token of [accessToken, refreshToken])
    assert.equal((await service.introspect(token)).active, true);
});

test('SIGNET_REVOCATION_AUTH=required: another client’s tokens are refused and live on', async () => {
  const tokens = await service.tokens(owner);
  for (const token of Object.values(tokens)) {
    assertRefused(await revoke(token, credentialsOf(other)), 400, 'invalid_grant');
    assert.equal((await service.introspect(token)).active, true);
  }
});

test('SIGNET_REVOCATION_AUTH=required: an unknown token is answered as a revoked one, and the metadata say how to ask', async () => {
  assert.equal((await revoke('unknown', credentialsOf(other))).status, 200);
  const { body } = await service.call('GET', '/.well-known/oauth-authorization-server');
  const methods = ['client_secret_basic', 'client_secret_post'];
  assert.deepEqual(body.revocation_endpoint_auth_methods_supported, methods);
});

test('SIGNET_INTROSPECTION_REASON=off: whatever makes a token inactive, the answer is `active: false` and no more', async () => {
  const { accessToken, refreshToken } = await service.tokens(owner);
  await revoke(accessToken, credentialsOf(owner));
  const gone = await service.createAgent();
  const orphan = await service.tokens(gone);
  await service.call('DELETE', `/api/agents/${gone.id}`, { admin: true });
  service.clock.advance({ days: 31 });
  for (const token of [
    accessToken,
    refreshToken,
    orphan.accessToken,
    orphan.refreshToken,
    'unknown',
    'a.b.c',
  ]) {
    assert.deepEqual(await service.introspect(token), { active: false });
  }
});

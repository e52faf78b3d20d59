import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestService } from '../harness.ts';
import {
  act,
  assertReason,
  assertRefused,
  change,
  createOrganization,
  requestToken,
  revoke,
} from './requests.ts';

let service: TestService;
before(async () => {
  service = await startService({ env: { SIGNET_AUDIENCE: 'https://api.test' } });
});
after(() => service.stop());

test('POST /oauth/introspect 200: an active access token answers what it is worth', async () => {
  const organizationId = await createOrganization(service);
  const agent = await service.createAgent({ organization_id: organizationId });
  const { body } = await requestToken(service, agent, { scope: 'read' });
  const issuedAt = Math.floor(service.clock.now() / 1000);
  const { jti, ...rest } = await service.introspect(body.access_token);
  assert.match(jti, /\w/);
  assert.deepEqual(rest, {
    active: true,
    scope: 'read',
    client_id: agent.clientId,
    token_type: 'Bearer',
    iat: issuedAt,
    exp: issuedAt + body.expires_in,
    sub: agent.id,
    iss: service.url,
    aud: 'https://api.test',
    org_id: organizationId,
  });
});

test('POST /oauth/introspect 200: an active refresh token says that it is one', async () => {
  const agent = await service.createAgent();
  const { refreshToken } = await service.tokens(agent);
  const issuedAt = Math.floor(service.clock.now() / 1000);
  const { jti, ...rest } = await service.introspect(refreshToken);
  assert.match(jti, /\w/);
  assert.deepEqual(rest, {
    active: true,
    scope: 'read write',
    client_id: agent.clientId,
    token_type: 'refresh_token',
    iat: issuedAt,
    exp: issuedAt + 30 * 86_400,
    sub: agent.id,
    iss: service.url,
    aud: 'https://api.test',
  });
});

test('POST /oauth/introspect 200: form and JSON bodies, any token_type_hint, never cached', async () => {
  const { accessToken } = await service.tokens(await service.createAgent());
  for (const hint of ['access_token', 'refresh_token', 'id_token']) {
    for (const kind of ['json', 'form'] as const) {
      const parameters = { token: accessToken, token_type_hint: hint };
      const answer = await service.call('POST', '/oauth/introspect', { [kind]: parameters });
      assert.deepEqual([answer.status, answer.body.active], [200, true]);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
    }
  }
});

test('POST /oauth/introspect 200: a revoked token is `revoked`', async () => {
  const { accessToken, refreshToken } = await service.tokens(await service.createAgent());
  await revoke(service, refreshToken);
  await assertReason(service, accessToken, 'revoked');
  await assertReason(service, refreshToken, 'revoked');
});

test('POST /oauth/introspect 200: a token past its end is `expired`, revoked or not', async () => {
  const agent = await service.createAgent();
  const [kept, revoked] = [await service.tokens(agent), await service.tokens(agent)];
  await revoke(service, revoked.accessToken);
  service.clock.advance({ hours: 1 });
  await assertReason(service, kept.accessToken, 'expired');
  await assertReason(service, revoked.accessToken, 'expired');
  service.clock.advance({ days: 30 });
  await assertReason(service, kept.refreshToken, 'expired');
});

test('POST /oauth/introspect 200: tokens of a deactivated agent are `agent_inactive` at once', async () => {
  const agent = await service.createAgent();
  const { accessToken, refreshToken } = await service.tokens(agent);
  await service.call('POST', '/api/agents/me/deactivate', { bearer: accessToken });
  for (const token of [accessToken, refreshToken]) await assertReason(service, token, 'agent_inactive');
  const me = await service.call('GET', '/api/agents/me', { bearer: accessToken });
  assertRefused(me, 401, 'invalid_token');
});

test('POST /oauth/introspect 200: tokens of a deleted agent are `agent_inactive` at once', async () => {
  const agent = await service.createAgent();
  const { accessToken, refreshToken } = await service.tokens(agent);
  await service.call('DELETE', '/api/agents/me/delete', { bearer: accessToken });
  for (const token of [accessToken, refreshToken]) await assertReason(service, token, 'agent_inactive');
});

test('POST /oauth/introspect 200: revoke_tokens ends every token of the agent, later ones live', async () => {
  const agent = await service.createAgent();
  const { accessToken, refreshToken } = await service.tokens(agent);
  await act(service, agent, 'revoke_tokens');
  for (const token of [accessToken, refreshToken]) await assertReason(service, token, 'revoked');
  const later = await service.tokens(agent);
  for (const token of [later.accessToken, later.refreshToken]) await assertReason(service, token, null);
});

test('POST /oauth/introspect 200: a scope that the agent loses is lost to its living tokens', async () => {
  const agent = await service.createAgent();
  const { accessToken, refreshToken } = await service.tokens(agent);
  await change(service, agent, { scopes: ['write', 'admin'] });
  for (const token of [accessToken, refreshToken]) {
    assert.equal((await service.introspect(token)).scope, 'write');
  }
});

test('POST /oauth/introspect 200: of what this service did not make nothing is said but `invalid`', async () => {
  const agent = await service.createAgent();
  const { refreshToken } = await service.tokens(agent);
  const strangers = [
    'x',
    ' ',
    'a.b.c',
    '..',
    'rt_1_x',
    `${refreshToken}0`,
    agent.clientSecret,
    agent.clientId,
  ];
  for (const stranger of strangers) await assertReason(service, stranger, 'invalid', stranger);
});

test('POST /oauth/introspect 400: a missing, empty or repeated token is refused', async () => {
  const form = (body: string) =>
    service.call('POST', '/oauth/introspect', {
      raw: { body, contentType: 'application/x-www-form-urlencoded' },
    });
  for (const body of ['', 'token=', 'tokens=x', 'token=x&token=x', 'token=%']) {
    assertRefused(await form(body), 400, 'invalid_request');
  }
  const answer = await service.call('POST', '/oauth/introspect', { json: { token: ['x'] } });
  assertRefused(answer, 400, 'invalid_request');
});

test('POST /oauth/introspect 400: a token in the query string is refused', async () => {
  const answer = await service.call('POST', '/oauth/introspect?token=x', { form: { token: 'x' } });
  assertRefused(answer, 400, 'invalid_request');
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { startService, type TestService } from '../harness.ts';
import { assertAlive, assertDead } from './bearer-paths.ts';

const CHANGING = [
  ['POST', '/api/agents/me/rotate'],
  ['POST', '/api/agents/me/deactivate'],
  ['DELETE', '/api/agents/me/delete'],
] as const;
const PATHS = [['GET', '/api/agents/me'], ['GET', '/api/agents/me/usage'], ...CHANGING] as const;

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

test('GET /api/agents/me 200: the agent reads itself, without any secret', async () => {
  const agent = await service.createAgent({ name: 'myself', scopes: ['read', 'write'] });
  const { accessToken } = await service.tokens(agent);
  const { status, body } = await service.call('GET', '/api/agents/me', { bearer: accessToken });
  assert.equal(status, 200);
  const { id, name, client_id: clientId, scopes, is_active: isActive } = body.agent;
  assert.deepEqual([id, name, clientId, isActive], [agent.id, 'myself', agent.clientId, true]);
  assert.deepEqual(scopes, ['read', 'write']);
  assert.equal(JSON.stringify(body).includes(agent.clientSecret), false);
});

test('GET /api/agents/me 200: each agent sees itself', async () => {
  const agents = [await service.createAgent(), await service.createAgent()];
  for (const agent of agents) {
    const { accessToken } = await service.tokens(agent);
    const { body } = await service.call('GET', '/api/agents/me', { bearer: accessToken });
    assert.equal(body.agent.id, agent.id);
  }
});

test('GET /api/agents/me 200: a narrowed token is enough to read', async () => {
  const agent = await service.createAgent({ scopes: ['read', 'write'] });
  const { accessToken } = await service.tokens(agent, 'write');
  for (const path of ['/api/agents/me', '/api/agents/me/usage']) {
    assert.equal((await service.call('GET', path, { bearer: accessToken })).status, 200);
  }
});

for (const [method, path] of CHANGING) {
  test(`${method} ${path} 403: a narrowed token cannot raise itself, and nothing changes`, async () => {
    const agent = await service.createAgent({ scopes: ['read', 'write'] });
    const { accessToken } = await service.tokens(agent, 'read');
    const answer = await service.call(method, path, { bearer: accessToken });
    assertError(answer, 403, 'insufficient_scope');
    const challenge = answer.headers.get('www-authenticate') ?? '';
    assert.match(challenge, /^Bearer .*error="insufficient_scope"/);
    assert.match(challenge, /scope="read write"/);
    await assertAlive(service, accessToken);
    await assertAlive(service, (await service.tokens(agent)).accessToken);
  });
}

for (const [method, path] of PATHS) {
  test(`${method} ${path} 401: without a token, the challenge names the scheme alone`, async () => {
    const answer = await service.call(method, path);
    assertError(answer, 401, 'invalid_token');
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="signet"');
  });

  test(`${method} ${path} 401: a refresh token is no access token`, async () => {
    const agent = await service.createAgent();
    const { accessToken, refreshToken } = await service.tokens(agent);
    assertError(await service.call(method, path, { bearer: refreshToken }), 401, 'invalid_token');
    await assertAlive(service, accessToken);
  });

  test(`${method} ${path} 401: a revoked token is refused`, async () => {
    const { accessToken } = await service.tokens(await service.createAgent());
    await service.call('POST', '/oauth/revoke', { json: { token: accessToken } });
    const answer = await service.call(method, path, { bearer: accessToken });
    assertError(answer, 401, 'invalid_token');
    assert.match(answer.headers.get('www-authenticate') ?? '', /error="invalid_token"/);
  });
}

test('POST /api/agents/me/deactivate 200: ends every token of the agent and tells so', async () => {
  const agent = await service.createAgent();
  const [one, other] = [await service.tokens(agent), await service.tokens(agent, 'read')];
  const { status, body } = await service.call('POST', '/api/agents/me/deactivate', {
    bearer: one.accessToken,
  });
  assert.equal(status, 200);
  assert.match(body.message, /deactivated/);
  await assertDead(service, one.accessToken, 'agent_inactive');
  await assertDead(service, other.accessToken, 'agent_inactive');
  const read = await service.call('GET', `/api/agents/${agent.id}`, { admin: true });
  assert.equal(read.body.agent.is_active, false);
});

test('DELETE /api/agents/me/delete 204: the agent and its tokens are gone', async () => {
  const agent = await service.createAgent();
  const { accessToken, refreshToken } = await service.tokens(agent);
  const { status, body } = await service.call('DELETE', '/api/agents/me/delete', { bearer: accessToken });
  assert.deepEqual([status, body], [204, undefined]);
  await assertDead(service, accessToken, 'agent_inactive');
  assert.equal((await service.introspect(refreshToken)).active, false);
  assertError(await service.call('GET', `/api/agents/${agent.id}`, { admin: true }), 404, 'not_found');
});

for (const [method, path] of [
  ['POST', '/api/agents/me/deactivate'],
  ['DELETE', '/api/agents/me/delete'],
] as const) {
  test(`${method} ${path}: an empty body with a JSON content type is as good as none`, async () => {
    const { accessToken } = await service.tokens(await service.createAgent());
    const raw = { body: '', contentType: 'application/json' };
    const { status } = await service.call(method, path, { bearer: accessToken, raw });
    assert.ok(status === 200 || status === 204, String(status));
    await assertDead(service, accessToken, 'agent_inactive');
  });

  test(`${method} ${path} 415: a body in another format is refused, and nothing changes`, async () => {
    const { accessToken } = await service.tokens(await service.createAgent());
    const raw = { body: 'please', contentType: 'text/plain' };
    const answer = await service.call(method, path, { bearer: accessToken, raw });
    assertError(answer, 415, 'unsupported_media_type');
    await assertAlive(service, accessToken);
  });
}

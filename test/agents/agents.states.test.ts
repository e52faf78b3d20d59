import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { type Answer, startService, type TestAgent, type TestService } from '../harness.ts';
import { assertAlive, assertDead } from './bearer-paths.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const act = (agent: TestAgent, action: string): Promise<Answer> =>
  service.call('POST', `/api/agents/${agent.id}`, { admin: true, json: { action } });
const change = (agent: TestAgent, json: unknown): Promise<Answer> =>
  service.call('PUT', `/api/agents/${agent.id}`, { admin: true, json });
const requestTokens = ({ clientId, clientSecret }: TestAgent): Promise<Answer> =>
  service.call('POST', '/oauth/token', {
    json: { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret },
  });
const refresh = (refreshToken: string): Promise<Answer> =>
  service.call('POST', '/oauth/refresh', {
    json: { grant_type: 'refresh_token', refresh_token: refreshToken },
  });

for (const [what, deactivate] of [
  ['POST /api/agents/:id deactivate', (agent: TestAgent) => act(agent, 'deactivate')],
  ['PUT /api/agents/:id is_active=false', (agent: TestAgent) => change(agent, { is_active: false })],
] as const) {
  test(`${what} 200: ends access tokens, refresh tokens and new grants at once`, async () => {
    const agent = await service.createAgent();
    const { accessToken, refreshToken } = await service.tokens(agent);
    await assertAlive(service, accessToken);
    assert.equal((await deactivate(agent)).status, 200);
    await assertDead(service, accessToken, 'agent_inactive');
    assert.deepEqual(await service.introspect(refreshToken), { active: false, reason: 'agent_inactive' });
    assertError(await refresh(refreshToken), 400, 'invalid_grant');
    assertError(await requestTokens(agent), 401, 'invalid_client');
  });
}

for (const [what, reactivate] of [
  ['POST /api/agents/:id reactivate', (agent: TestAgent) => act(agent, 'reactivate')],
  ['PUT /api/agents/:id is_active=true', (agent: TestAgent) => change(agent, { is_active: true })],
] as const) {
  test(`${what} 200: the agent gets tokens that work again`, async () => {
    const agent = await service.createAgent();
    await act(agent, 'deactivate');
    assertError(await requestTokens(agent), 401, 'invalid_client');
    assert.equal((await reactivate(agent)).status, 200);
    await assertAlive(service, (await service.tokens(agent)).accessToken);
  });
}

test('DELETE /api/agents/:id 204: ends access tokens, refresh tokens and new grants at once', async () => {
  const agent = await service.createAgent();
  const { accessToken, refreshToken } = await service.tokens(agent);
  await assertAlive(service, accessToken);
  const { status } = await service.call('DELETE', `/api/agents/${agent.id}`, { admin: true });
  assert.equal(status, 204);
  await assertDead(service, accessToken, 'agent_inactive');
  assert.equal((await service.introspect(refreshToken)).active, false);
  assertError(await refresh(refreshToken), 400, 'invalid_grant');
  assertError(await requestTokens(agent), 401, 'invalid_client');
});

test('POST /api/agents/:id revoke_tokens 200: ends what was issued, and new tokens work', async () => {
  const agent = await service.createAgent();
  const { accessToken, refreshToken } = await service.tokens(agent);
  const { status, body } = await act(agent, 'revoke_tokens');
  assert.deepEqual([status, body.agent.id], [200, agent.id]);
  await assertDead(service, accessToken, 'revoked');
  assert.deepEqual(await service.introspect(refreshToken), { active: false, reason: 'revoked' });
  assertError(await refresh(refreshToken), 400, 'invalid_grant');
  await assertAlive(service, (await service.tokens(agent)).accessToken);
});

test('POST /api/agents/:id revoke_tokens 200: leaves the tokens of other agents alone', async () => {
  const [agent, other] = [await service.createAgent(), await service.createAgent()];
  const { accessToken } = await service.tokens(other);
  await act(agent, 'revoke_tokens');
  await assertAlive(service, accessToken);
});

test('an agent that expires loses its tokens and gets no more', async () => {
  const agent = await service.createAgent({ expires_in: 7200 });
  service.clock.advance({ seconds: 7190 });
  const { accessToken, refreshToken } = await service.tokens(agent);
  await assertAlive(service, accessToken);
  service.clock.advance({ seconds: 10 });
  await assertDead(service, accessToken, 'expired');
  assert.deepEqual(await service.introspect(refreshToken), { active: false, reason: 'expired' });
  assertError(await refresh(refreshToken), 400, 'invalid_grant');
  assertError(await requestTokens(agent), 401, 'invalid_client');
});

test('no token outlives its agent', async () => {
  const agent = await service.createAgent({ expires_in: 90 });
  const { body } = await requestTokens(agent);
  assert.equal(body.expires_in, 90);
  const { exp, iat } = await service.introspect(body.access_token);
  assert.equal(exp - iat, 90);
});

test('PUT /api/agents/:id expires_in: an earlier end holds for living tokens, a later one revives the agent', async () => {
  const agent = await service.createAgent();
  const { accessToken } = await service.tokens(agent);
  await change(agent, { expires_in: 60 });
  await assertAlive(service, accessToken);
  service.clock.advance({ seconds: 60 });
  await assertDead(service, accessToken, 'agent_inactive');
  await change(agent, { expires_in: 3600 });
  await assertAlive(service, (await service.tokens(agent)).accessToken);
});

test('an access token ends with its own lifetime', async () => {
  const { accessToken } = await service.tokens(await service.createAgent());
  service.clock.advance({ seconds: 3599 });
  await assertAlive(service, accessToken);
  service.clock.advance({ seconds: 1 });
  await assertDead(service, accessToken, 'expired');
});

test('PUT /api/agents/:id scopes: narrowing narrows living tokens, and widening does not widen them', async () => {
  const agent = await service.createAgent({ scopes: ['read', 'write'] });
  const { accessToken, refreshToken } = await service.tokens(agent);
  await change(agent, { scopes: ['read', 'admin'] });
  assert.equal((await service.introspect(accessToken)).scope, 'read');
  assert.equal((await service.introspect(refreshToken)).scope, 'read');
  const refreshed = await refresh(refreshToken);
  assert.equal(refreshed.body.scope, 'read');
});

test('PUT /api/agents/:id scopes: a token that held all scopes of the agent is a narrowed one after a widening', async () => {
  const agent = await service.createAgent({ scopes: ['read'] });
  const { accessToken } = await service.tokens(agent);
  await change(agent, { scopes: ['read', 'write'] });
  const answer = await service.call('POST', '/api/agents/me/rotate', { bearer: accessToken });
  assertError(answer, 403, 'insufficient_scope');
});

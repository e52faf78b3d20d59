import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestAgent, type TestService } from '../harness.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const now = (): string => new Date(service.clock.now()).toISOString();
const usage = async (bearer: string) => (await service.call('GET', '/api/agents/me/usage', { bearer })).body;
const read = async (agent: TestAgent) =>
  (await service.call('GET', `/api/agents/${agent.id}`, { admin: true })).body.agent;
const refresh = (refreshToken: string) =>
  service.call('POST', '/oauth/refresh', {
    json: { grant_type: 'refresh_token', refresh_token: refreshToken },
  });

test('GET /api/agents/me/usage 200: counts tokens of both grants, and refreshes apart', async () => {
  const agent = await service.createAgent();
  const first = await service.tokens(agent);
  assert.deepEqual(await usage(first.accessToken), {
    token_count: 1,
    refresh_count: 0,
    last_activity_at: now(),
    rotation_history: [],
  });
  const second = await refresh(first.refreshToken);
  await refresh(second.body.refresh_token);
  await service.tokens(agent, 'read');
  const counted = await usage(first.accessToken);
  assert.deepEqual([counted.token_count, counted.refresh_count], [4, 2]);
  const { token_count: tokens, refresh_count: refreshes } = await read(agent);
  assert.deepEqual([tokens, refreshes], [4, 2]);
});

test('GET /api/agents 200: counts tokens, of many at once none is lost', async () => {
  const agent = await service.createAgent({ name: 'counted' });
  await Promise.all(Array.from({ length: 20 }, () => service.tokens(agent)));
  const { body } = await service.call('GET', '/api/agents?q=counted', { admin: true });
  assert.equal(body.agents[0].token_count, 20);
});

test('GET /api/agents/me/usage 200: what is refused is not counted', async () => {
  const agent = await service.createAgent();
  const { accessToken, refreshToken } = await service.tokens(agent);
  await service.call('POST', '/oauth/token', {
    json: { grant_type: 'client_credentials', client_id: agent.clientId, client_secret: 'wrong' },
  });
  await refresh(`${refreshToken}x`);
  const { token_count: tokens, refresh_count: refreshes } = await usage(accessToken);
  assert.deepEqual([tokens, refreshes], [1, 0]);
});

test('GET /api/agents/me/usage 200: the rotation history is newest first, by whomever the rotation was', async () => {
  const agent = await service.createAgent();
  const { accessToken } = await service.tokens(agent);
  const rotatedAt: string[] = [];
  for (const [path, options] of [
    ['/api/agents/me/rotate', { bearer: accessToken }],
    [`/api/agents/${agent.id}`, { admin: true, json: { action: 'rotate' } }],
    ['/api/agents/me/rotate', { bearer: accessToken }],
  ] as const) {
    service.clock.advance({ minutes: 1 });
    rotatedAt.unshift(now());
    assert.equal((await service.call('POST', path, options)).status, 200);
  }
  const { rotation_history: history } = await usage(accessToken);
  assert.deepEqual(
    history,
    rotatedAt.map((at) => ({ rotated_at: at })),
  );
});

test('last_activity_at: null before, then the last token issued or refreshed', async () => {
  const agent = await service.createAgent();
  assert.equal((await read(agent)).last_activity_at, null);
  const { refreshToken } = await service.tokens(agent);
  assert.equal((await read(agent)).last_activity_at, now());
  service.clock.advance({ seconds: 10 });
  await refresh(refreshToken);
  assert.equal((await read(agent)).last_activity_at, now());
});

test('last_activity_at: use at self-service is noted, at most once a minute', async () => {
  const agent = await service.createAgent();
  const { accessToken } = await service.tokens(agent);
  const issuedAt = now();
  service.clock.advance({ seconds: 59 });
  assert.equal((await usage(accessToken)).last_activity_at, issuedAt);
  assert.equal((await read(agent)).last_activity_at, issuedAt);
  service.clock.advance({ seconds: 1 });
  assert.equal((await usage(accessToken)).last_activity_at, now());
  assert.equal((await read(agent)).last_activity_at, now());
});

test('last_activity_at: neither introspection nor an administrator’s read is activity', async () => {
  const agent = await service.createAgent();
  const { accessToken } = await service.tokens(agent);
  const issuedAt = now();
  service.clock.advance({ minutes: 5 });
  assert.equal((await service.introspect(accessToken)).active, true);
  await read(agent);
  assert.equal((await read(agent)).last_activity_at, issuedAt);
});

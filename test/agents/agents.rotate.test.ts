import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { type Answer, startService, type TestAgent, type TestService } from '../harness.ts';
import { assertAlive } from './bearer-paths.ts';

const MOST_LIVING_SECRETS = 5;

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const rotate = (agent: TestAgent, graceSeconds?: number): Promise<Answer> =>
  service.call('POST', `/api/agents/${agent.id}`, {
    admin: true,
    json: { action: 'rotate', ...(graceSeconds !== undefined && { grace_period_secs: graceSeconds }) },
  });
const requestTokens = (agent: TestAgent, clientSecret: string): Promise<Answer> =>
  service.call('POST', '/oauth/token', {
    json: { grant_type: 'client_credentials', client_id: agent.clientId, client_secret: clientSecret },
  });
const refresh = (refreshToken: string): Promise<Answer> =>
  service.call('POST', '/oauth/refresh', {
    json: { grant_type: 'refresh_token', refresh_token: refreshToken },
  });
const secretsOf = async (agent: TestAgent) =>
  (await service.call('GET', `/api/agents/${agent.id}`, { admin: true })).body.agent.secrets;
const timestamp = (inSeconds = 0): string => new Date(service.clock.now() + inSeconds * 1000).toISOString();

test('POST /api/agents/:id rotate 200: the new secret works and the old one is dead at once', async () => {
  const agent = await service.createAgent();
  const { status, body } = await rotate(agent);
  assert.equal(status, 200);
  assert.equal(body.client_id, agent.clientId);
  assert.notEqual(body.client_secret, agent.clientSecret);
  assert.equal(body.previous_secrets_expire_at, timestamp());
  assertError(await requestTokens(agent, agent.clientSecret), 401, 'invalid_client');
  assert.equal((await requestTokens(agent, body.client_secret)).status, 200);
});

test('POST /api/agents/:id rotate 200: refresh tokens of the old secret end with it, access tokens live on', async () => {
  const agent = await service.createAgent();
  const { accessToken, refreshToken } = await service.tokens(agent);
  await rotate(agent, 0);
  await assertAlive(service, accessToken);
  assert.deepEqual(await service.introspect(refreshToken), { active: false, reason: 'revoked' });
  assertError(await refresh(refreshToken), 400, 'invalid_grant');
  service.clock.advance({ seconds: 3600 });
  assert.deepEqual(await service.introspect(accessToken), { active: false, reason: 'expired' });
});

test('POST /api/agents/:id rotate 200: both secrets work until the grace period ends', async () => {
  const agent = await service.createAgent();
  const { body } = await rotate(agent, 604_800);
  assert.equal(body.previous_secrets_expire_at, timestamp(604_800));
  service.clock.advance({ seconds: 604_800, milliseconds: -1 });
  for (const secret of [agent.clientSecret, body.client_secret]) {
    assert.equal((await requestTokens(agent, secret)).status, 200);
  }
  service.clock.advance({ milliseconds: 1 });
  assertError(await requestTokens(agent, agent.clientSecret), 401, 'invalid_client');
  assert.equal((await requestTokens(agent, body.client_secret)).status, 200);
});

test('POST /api/agents/:id rotate 200: a refresh token of the old secret works until the grace period ends, and so do its successors', async () => {
  const agent = await service.createAgent();
  const first = await service.tokens(agent);
  await rotate(agent, 30);
  const second = await refresh(first.refreshToken);
  assert.equal(second.status, 200);
  service.clock.advance({ seconds: 30 });
  assertError(await refresh(second.body.refresh_token), 400, 'invalid_grant');
  assert.deepEqual(await service.introspect(second.body.refresh_token), { active: false, reason: 'revoked' });
  await assertAlive(service, second.body.access_token);
});

test('POST /api/agents/:id rotate 200: without a grace period it ends those that still have one', async () => {
  const agent = await service.createAgent();
  const second = (await rotate(agent, 3600)).body.client_secret;
  const third = (await rotate(agent)).body.client_secret;
  for (const ended of [agent.clientSecret, second]) {
    assertError(await requestTokens(agent, ended), 401, 'invalid_client');
  }
  assert.equal((await requestTokens(agent, third)).status, 200);
  assert.equal((await secretsOf(agent)).length, 1);
});

test('POST /api/agents/:id rotate 200: a later grace period does not lengthen an earlier one', async () => {
  const agent = await service.createAgent();
  const second = (await rotate(agent, 60)).body.client_secret;
  await rotate(agent, 3600);
  service.clock.advance({ seconds: 60 });
  assertError(await requestTokens(agent, agent.clientSecret), 401, 'invalid_client');
  assert.equal((await requestTokens(agent, second)).status, 200);
});

test('GET /api/agents/:id 200: lists living secrets newest first, each with its end', async () => {
  const agent = await service.createAgent();
  const created = timestamp();
  service.clock.advance({ seconds: 5 });
  await rotate(agent, 60);
  const end = timestamp(60);
  assert.deepEqual(await secretsOf(agent), [
    { created_at: timestamp(), expires_at: null, last_used_at: null },
    { created_at: created, expires_at: end, last_used_at: null },
  ]);
  service.clock.advance({ seconds: 60 });
  assert.equal((await secretsOf(agent)).length, 1);
});

test('GET /api/agents/:id 200: each secret tells when it was last used, to the minute', async () => {
  const agent = await service.createAgent();
  const { body } = await rotate(agent, 3600);
  const firstUse = timestamp();
  await requestTokens(agent, agent.clientSecret);
  service.clock.advance({ seconds: 59 });
  await requestTokens(agent, agent.clientSecret);
  const used = async () =>
    (await secretsOf(agent)).map((secret: { last_used_at: string }) => secret.last_used_at);
  assert.deepEqual(await used(), [null, firstUse]);
  service.clock.advance({ seconds: 1 });
  await requestTokens(agent, agent.clientSecret);
  const secondUse = timestamp();
  assert.deepEqual(await used(), [null, secondUse]);
  service.clock.advance({ seconds: 1 });
  await requestTokens(agent, body.client_secret);
  assert.deepEqual(await used(), [timestamp(), secondUse]);
});

test('GET /api/agents/:id 200: a wrong secret counts as nobody’s use', async () => {
  const agent = await service.createAgent();
  assertError(await requestTokens(agent, `${agent.clientSecret}x`), 401, 'invalid_client');
  assert.deepEqual((await secretsOf(agent))[0].last_used_at, null);
});

test('POST /api/agents/:id rotate 409: too many living secrets, until one ends or none gets a grace period', async () => {
  const agent = await service.createAgent();
  for (let living = 1; living < MOST_LIVING_SECRETS; living++) {
    assert.equal((await rotate(agent, 60 * living)).status, 200);
  }
  const before = await secretsOf(agent);
  assertError(await rotate(agent, 600), 409, 'conflict');
  assert.deepEqual(await secretsOf(agent), before);
  assert.equal((await requestTokens(agent, agent.clientSecret)).status, 200);
  service.clock.advance({ seconds: 60 });
  assert.equal((await rotate(agent, 600)).status, 200);
  assertError(await rotate(agent, 600), 409, 'conflict');
  assert.equal((await rotate(agent)).status, 200);
  assert.equal((await secretsOf(agent)).length, 1);
});

test('POST /api/agents/:id rotate 200: of many at once, each leaves one secret that lives', async () => {
  const agent = await service.createAgent();
  const answers = await Promise.all(Array.from({ length: 10 }, () => rotate(agent)));
  const used = await Promise.all(answers.map(({ body }) => requestTokens(agent, body.client_secret)));
  assert.equal(used.filter(({ status }) => status === 200).length, 1);
  assert.equal((await secretsOf(agent)).length, 1);
});

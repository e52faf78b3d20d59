import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, assertInvalid } from '../assert-error.ts';
import { type Answer, type CallOptions, startService, type TestAgent, type TestService } from '../harness.ts';
import { assertAlive } from './bearer-paths.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const rotate = (bearer: string, options: CallOptions = {}): Promise<Answer> =>
  service.call('POST', '/api/agents/me/rotate', { bearer, ...options });
const isRight = async (agent: TestAgent, clientSecret: string): Promise<boolean> => {
  const json = { grant_type: 'client_credentials', client_id: agent.clientId, client_secret: clientSecret };
  return (await service.call('POST', '/oauth/token', { json })).status === 200;
};

for (const [what, options] of [
  ['no body at all', {}],
  ['an empty body of JSON type', { raw: { body: '', contentType: 'application/json' } }],
  ['an empty object', { json: {} }],
  ['a grace period of 0', { json: { grace_period_secs: 0 } }],
] as const) {
  test(`POST /api/agents/me/rotate 200: with ${what} the old secret dies at once`, async () => {
    const agent = await service.createAgent();
    const { accessToken, refreshToken } = await service.tokens(agent);
    const { status, body } = await rotate(accessToken, options);
    assert.deepEqual([status, body.client_id], [200, agent.clientId]);
    assert.equal(await isRight(agent, agent.clientSecret), false);
    assert.equal(await isRight(agent, body.client_secret), true);
    assert.deepEqual(await service.introspect(refreshToken), { active: false, reason: 'revoked' });
    await assertAlive(service, accessToken);
  });
}

test('POST /api/agents/me/rotate 200: with a grace period both secrets work until it ends', async () => {
  const agent = await service.createAgent();
  const { accessToken, refreshToken } = await service.tokens(agent);
  const { body } = await rotate(accessToken, { json: { grace_period_secs: 300 } });
  assert.equal(Date.parse(body.previous_secrets_expire_at), service.clock.now() + 300_000);
  service.clock.advance({ seconds: 299 });
  assert.equal(await isRight(agent, agent.clientSecret), true);
  assert.equal((await service.introspect(refreshToken)).active, true);
  service.clock.advance({ seconds: 1 });
  assert.equal(await isRight(agent, agent.clientSecret), false);
  assert.equal(await isRight(agent, body.client_secret), true);
  assert.deepEqual(await service.introspect(refreshToken), { active: false, reason: 'revoked' });
});

for (const [what, field, json] of [
  ['a negative grace period', 'grace_period_secs', { grace_period_secs: -1 }],
  ['a grace period over a week', 'grace_period_secs', { grace_period_secs: 604_801 }],
  ['a grace period in quotes', 'grace_period_secs', { grace_period_secs: '60' }],
  ['an unknown member', 'action', { action: 'rotate' }],
  ['a list', 'body', []],
] as const) {
  test(`POST /api/agents/me/rotate 400: ${what} is refused, and the secret goes on working`, async () => {
    const agent = await service.createAgent();
    const { accessToken } = await service.tokens(agent);
    assertInvalid(await rotate(accessToken, { json }), field);
    assert.equal(await isRight(agent, agent.clientSecret), true);
  });
}

test('POST /api/agents/me/rotate 409: too many living secrets', async () => {
  const agent = await service.createAgent();
  const { accessToken } = await service.tokens(agent);
  const statuses: number[] = [];
  for (let round = 0; round < 5; round++) {
    statuses.push((await rotate(accessToken, { json: { grace_period_secs: 60 } })).status);
  }
  assert.deepEqual(statuses, [200, 200, 200, 200, 409]);
  assert.equal(await isRight(agent, agent.clientSecret), true);
});

test('POST /api/agents/me/rotate 415: a form is refused, and the secret goes on working', async () => {
  const agent = await service.createAgent();
  const { accessToken } = await service.tokens(agent);
  const answer = await rotate(accessToken, { form: { grace_period_secs: '60' } });
  assertError(answer, 415, 'unsupported_media_type');
  assert.equal(await isRight(agent, agent.clientSecret), true);
});

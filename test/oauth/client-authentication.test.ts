import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { basic, startService, type TestAgent, type TestService } from '../harness.ts';
import { act, assertRefused, change, clientCredentials, credentialsOf, requestToken } from './requests.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

/** By the body and by HTTP Basic: the same refusal, with a challenge only where Basic was used. */
async function assertInvalidClient(agent: TestAgent): Promise<void> {
  const inBody = await requestToken(service, agent);
  assertRefused(inBody, 401, 'invalid_client');
  assert.equal(inBody.headers.get('www-authenticate'), null);
  const byBasic = await service.call('POST', '/oauth/token', {
    form: { grant_type: 'client_credentials' },
    headers: { authorization: basic(agent.clientId, agent.clientSecret) },
  });
  assertRefused(byBasic, 401, 'invalid_client');
  assert.match(byBasic.headers.get('www-authenticate') ?? '', /^Basic realm=/);
  assert.deepEqual(byBasic.body, inBody.body);
}

test('POST /oauth/token 401: an unknown client and a wrong secret are told apart by nothing', async () => {
  const agent = await service.createAgent();
  const unknown = { ...agent, clientId: 'cid_00000000000000000000000000' };
  const wrong = { ...agent, clientSecret: `cs_${'0'.repeat(59)}` };
  await assertInvalidClient(unknown);
  await assertInvalidClient(wrong);
  assert.deepEqual((await requestToken(service, unknown)).body, (await requestToken(service, wrong)).body);
});

test('POST /oauth/token 401: near misses of a secret are wrong', async () => {
  const agent = await service.createAgent();
  const { clientSecret: secret } = agent;
  for (const near of [
    secret.toUpperCase(),
    secret.slice(0, -1),
    `${secret} `,
    ` ${secret}`,
    secret.slice(3),
  ]) {
    const answer = await requestToken(service, { ...agent, clientSecret: near });
    assertRefused(answer, 401, 'invalid_client');
  }
});

test('POST /oauth/token 401: the secret of another agent is wrong', async () => {
  const [one, other] = [await service.createAgent(), await service.createAgent()];
  await assertInvalidClient({ ...one, clientSecret: other.clientSecret });
});

test('POST /oauth/token 401: a deactivated agent gets nothing until it is reactivated', async () => {
  const agent = await service.createAgent();
  await act(service, agent, 'deactivate');
  await assertInvalidClient(agent);
  await act(service, agent, 'reactivate');
  assert.equal((await requestToken(service, agent)).status, 200);
});

test('POST /oauth/token 401: an expired agent gets nothing until its end is moved', async () => {
  const agent = await service.createAgent({ expires_in: 60 });
  service.clock.advance({ seconds: 59 });
  assert.equal((await requestToken(service, agent)).body.expires_in, 1);
  service.clock.advance({ milliseconds: 500 });
  await assertInvalidClient(agent);
  service.clock.advance({ milliseconds: 500 });
  await assertInvalidClient(agent);
  await change(service, agent, { expires_in: 10 });
  assert.equal((await requestToken(service, agent)).body.expires_in, 10);
});

test('POST /oauth/token 401: a deleted agent gets nothing', async () => {
  const agent = await service.createAgent();
  await service.call('DELETE', `/api/agents/${agent.id}`, { admin: true });
  await assertInvalidClient(agent);
});

test('POST /oauth/token 401: a rotated secret ends at once', async () => {
  const agent = await service.createAgent();
  const { body } = await act(service, agent, 'rotate');
  await assertInvalidClient(agent);
  assert.equal((await requestToken(service, { ...agent, clientSecret: body.client_secret })).status, 200);
});

test('POST /oauth/token 401: a secret in its grace period works to the last millisecond and no longer', async () => {
  const agent = await service.createAgent();
  await act(service, agent, 'rotate', { grace_period_secs: 60 });
  service.clock.advance({ seconds: 59, milliseconds: 999 });
  assert.equal((await requestToken(service, agent)).status, 200);
  service.clock.advance({ milliseconds: 1 });
  await assertInvalidClient(agent);
});

test('POST /oauth/token 401: Authorization headers that are not Basic credentials are refused', async () => {
  const agent = await service.createAgent();
  const encode = (text: string | Buffer) => `Basic ${Buffer.from(text).toString('base64')}`;
  const pair = `${agent.clientId}:${agent.clientSecret}`;
  const headers = [
    'Basic',
    'Basic ',
    `Bearer ${agent.clientSecret}`,
    `Basic ${pair}`,
    encode(agent.clientId),
    encode(`${pair}%`),
    encode(`${pair}\0`),
    encode(Buffer.concat([Buffer.from(pair), Buffer.of(0xff)])),
    `${encode(pair)}, ${encode(pair)}`,
    encode(pair).replace('Basic ', 'Basic'),
  ];
  for (const authorization of headers) {
    const json = { grant_type: 'client_credentials' };
    const answer = await service.call('POST', '/oauth/token', { json, headers: { authorization } });
    assertRefused(answer, 401, 'invalid_client');
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic /, authorization);
  }
});

test('POST /oauth/token 401: an unknown grant type is named before the credentials are looked at', async () => {
  const agent = await service.createAgent();
  const json = { ...clientCredentials(agent), client_secret: 'wrong', grant_type: 'password' };
  assertRefused(await service.call('POST', '/oauth/token', { json }), 400, 'unsupported_grant_type');
  assert.equal((await requestToken(service, agent, credentialsOf(agent))).status, 200);
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { basic, startService, type TestAgent, type TestService } from '../harness.ts';
import { assertReason, clientCredentials, countsOf, credentialsOf, requestToken } from './requests.ts';

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService();
  agent = await service.createAgent({ scopes: ['read', 'admin'] });
});
after(() => service.stop());

const percentEncoded = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

test('POST /oauth/token 200: an agent trades its credentials for a token with all of its scopes', async () => {
  const { status, body, headers } = await requestToken(service, agent);
  assert.equal(status, 200);
  assert.equal(body.token_type, 'Bearer');
  assert.equal(body.expires_in, 3600);
  assert.equal(body.scope, 'read admin');
  assert.match(body.refresh_token, /^rt_[1-9a-z][0-9a-z]*_[0-9a-z]{59}$/);
  assert.equal(headers.get('cache-control'), 'no-store');
  await assertReason(service, body.access_token, null);
  await assertReason(service, body.refresh_token, null);
});

test('POST /oauth/token 200: a form body is worth what a JSON body is', async () => {
  const { status, body } = await service.call('POST', '/oauth/token', {
    form: { ...clientCredentials(agent), scope: 'read' },
  });
  assert.deepEqual([status, body.scope], [200, 'read']);
  await assertReason(service, body.access_token, null);
});

for (const [kind, encode] of [
  ['as they are', (text: string) => text],
  ['with every byte percent-encoded', percentEncoded],
] as const) {
  test(`POST /oauth/token 200: HTTP Basic carries the credentials ${kind}`, async () => {
    const { status, body } = await service.call('POST', '/oauth/token', {
      form: { grant_type: 'client_credentials' },
      headers: { authorization: basic(encode(agent.clientId), encode(agent.clientSecret)) },
    });
    assert.equal(status, 200);
    assert.equal((await service.introspect(body.access_token)).client_id, agent.clientId);
  });
}

test('POST /oauth/token 200: the same client_id beside HTTP Basic is no second method', async () => {
  const { status } = await service.call('POST', '/oauth/token', {
    json: { grant_type: 'client_credentials', client_id: agent.clientId },
    headers: { authorization: basic(agent.clientId, agent.clientSecret) },
  });
  assert.equal(status, 200);
});

test('POST /oauth/token 200: the scheme of the Authorization header is read in any case', async () => {
  const authorization = basic(agent.clientId, agent.clientSecret).replace('Basic', 'bASIC');
  const { status } = await service.call('POST', '/oauth/token', {
    json: { grant_type: 'client_credentials' },
    headers: { authorization },
  });
  assert.equal(status, 200);
});

test('POST /oauth/token 200: unknown parameters are ignored', async () => {
  const unknown = { resource: 'https://api.test', nested: { a: [1] }, constructor: 'x' };
  assert.equal((await requestToken(service, agent, unknown)).status, 200);
  const form = { ...clientCredentials(agent), resource: 'https://api.test', constructor: 'x' };
  assert.equal((await service.call('POST', '/oauth/token', { form })).status, 200);
});

test('POST /oauth/token 200: each token is another one, and each is counted', async () => {
  const own = await service.createAgent();
  const answers = await Promise.all(Array.from({ length: 40 }, () => requestToken(service, own)));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal(new Set(answers.map(({ body }) => body.access_token)).size, 40);
  assert.equal(new Set(answers.map(({ body }) => body.refresh_token)).size, 40);
  assert.deepEqual(await countsOf(service, own), { tokens: 40, refreshes: 0 });
});

test('POST /oauth/token 200: neither the client secret nor a token reaches the log', async () => {
  const { body } = await requestToken(service, agent);
  await service.call('POST', '/oauth/token', { json: { ...credentialsOf(agent), grant_type: 'password' } });
  const log = service.logLines.join('\n');
  for (const secret of [agent.clientSecret, body.access_token, body.refresh_token]) {
    assert.equal(log.includes(secret), false);
  }
});

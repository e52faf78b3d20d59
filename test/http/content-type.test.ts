import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestService } from '../harness.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const agent = JSON.stringify({ name: 'typed' });
const form = 'application/x-www-form-urlencoded';

const create = (contentType: string) =>
  service.call('POST', '/api/agents', { admin: true, raw: { body: agent, contentType } });

test('POST /api/agents 415: a body that is not said to be JSON is refused', async () => {
  const types = [
    'text/plain',
    form,
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/jsonx',
  ];
  for (const type of [...types, 'text/json', 'application', '*/*', 'application/json, text/plain']) {
    const { status, body } = await create(type);
    assert.deepEqual([status, body.error], [415, 'unsupported_media_type'], type);
    assert.equal(body.error_description, 'Send the body as application/json.');
  }
  const { body } = await service.call('GET', '/api/agents?q=typed', { admin: true });
  assert.deepEqual(body.agents, []);
});

test('POST 415: a body without a content type is refused, with what the path reads', async () => {
  const raw = { body: new TextEncoder().encode(agent), contentType: '' };
  const admin = await service.call('POST', '/api/agents', { admin: true, raw });
  assert.deepEqual([admin.status, admin.body.error], [415, 'unsupported_media_type']);
  const oauth = await service.call('POST', '/oauth/token', { raw });
  assert.equal(oauth.status, 415);
  assert.match(oauth.body.error_description, /application\/json or application\/x-www-form-urlencoded/);
});

test('POST /api/agents 201: parameters and capitals of the content type do not matter', async () => {
  for (const type of [
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'Application/JSON',
    'application/json; charset="utf-8"; profile=x',
  ]) {
    assert.equal((await create(type)).status, 201, type);
  }
});

test('POST /oauth/introspect 200: a form with a charset is read', async () => {
  const raw = { body: 'token=x', contentType: `${form}; charset=UTF-8` };
  assert.equal((await service.call('POST', '/oauth/introspect', { raw })).status, 200);
});

for (const [method, path, authorized] of [
  ['POST', '/api/keys/rotate', 'admin'],
  ['POST', '/api/agents/me/deactivate', 'bearer'],
  ['POST', '/api/agents/me/rotate', 'bearer'],
  ['DELETE', '/api/agents/me/delete', 'bearer'],
  ['DELETE', '/api/agents/agent_unknown', 'admin'],
] as const) {
  test(`${method} ${path} 415 and 413: a body that nobody asked for is refused as documented`, async () => {
    const { accessToken } = await service.tokens(await service.createAgent());
    const who = authorized === 'admin' ? { admin: true as const } : { bearer: accessToken };
    const typed = await service.call(method, path, { ...who, raw: { body: 'x', contentType: 'text/plain' } });
    assert.deepEqual([typed.status, typed.body.error], [415, 'unsupported_media_type']);
    const large = { body: ' '.repeat(65_537), contentType: 'application/json' };
    const sized = await service.call(method, path, { ...who, raw: large });
    assert.deepEqual([sized.status, sized.body.error], [413, 'payload_too_large']);
  });
}

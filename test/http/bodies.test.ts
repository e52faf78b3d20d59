import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Answer, startService, type TestService } from '../harness.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

async function agentCount(): Promise<number> {
  return (await service.call('GET', '/api/agents', { admin: true })).body.agents.length;
}

function assertInvalid({ status, body }: Answer, description: RegExp): void {
  assert.deepEqual([status, body.error], [400, 'invalid_request']);
  assert.match(body.error_description, description);
}

/** Sends the text as the body of a new agent; there must be no agent of it. */
async function assertRefused(text: string | Uint8Array, description: RegExp): Promise<void> {
  const count = await agentCount();
  const raw = { body: text, contentType: 'application/json' };
  assertInvalid(await service.call('POST', '/api/agents', { admin: true, raw }), description);
  assert.equal(await agentCount(), count);
}

const broken = [
  '{',
  '{"name":"x"',
  '{"name":"x",}',
  "{'name':'x'}",
  '{"name":NaN}',
  'name=x',
  '\ufeff{"name":"x"}',
];

test('POST /api/agents 400: what is not JSON is refused', async () => {
  for (const text of [...broken, '{"name":"x"}{"name":"y"}', '{"name":"a\nb"}']) {
    await assertRefused(text, /not valid JSON/);
  }
});

test('POST /api/agents 400: an empty body and JSON that is no object are refused', async () => {
  for (const text of ['', 'null', '[]', '"x"', '1', 'true', '[{"name":"x"}]']) {
    await assertRefused(text, /^body: it must be a JSON object/);
  }
});

test('POST /oauth/token 400: an empty body and JSON that is no object are refused', async () => {
  for (const body of ['', 'null', '[]', '"grant_type=client_credentials"']) {
    const raw = { body, contentType: 'application/json' };
    assertInvalid(await service.call('POST', '/oauth/token', { raw }), /^body: it must be a JSON object/);
  }
});

test('POST /api/agents 400: a repeated member is refused, nested and differently escaped too', async () => {
  for (const text of [
    '{"name":"x","name":"x"}',
    '{"name":"x","na\\u006de":"y"}',
    '{"name":"x","extra":{"a":1,"a":2}}',
    '{"name":"x","extra":[[{"a":1,"\\u0061":2}]]}',
    '{"name":"x","":1,"":2}',
  ]) {
    await assertRefused(text, /names a member more than once/);
  }
});

test('POST /oauth/token 400: a repeated member or parameter is refused', async () => {
  const repeated = /more than once/;
  const json = '{"grant_type":"client_credentials","client_id":"a","client_id":"b","client_secret":"c"}';
  const form = 'grant_type=client_credentials&client_id=a&client%5Fid=b&client_secret=c';
  for (const raw of [
    { body: json, contentType: 'application/json' },
    { body: form, contentType: 'application/x-www-form-urlencoded' },
  ]) {
    assertInvalid(await service.call('POST', '/oauth/token', { raw }), repeated);
  }
});

test('POST /api/agents 201: colons, quotes and brackets inside of strings are not members', async () => {
  const name = 'a:b "c":"d" {e:f} \\ :';
  const { status, body } = await service.call('POST', '/api/agents', { admin: true, json: { name } });
  assert.equal(status, 201);
  const read = await service.call('GET', `/api/agents/${body.agent.id}`, { admin: true });
  assert.equal(read.body.agent.name, name);
});

for (const name of [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '__defineGetter__',
]) {
  test(`POST /api/agents 400: ${name} is no member; as a value it is a text like any other`, async () => {
    const refused = new RegExp(`^${name}: there is no such field`);
    await assertRefused(`{"name":"x","${name}":{"isActive":true}}`, refused);
    await assertRefused(`{"name":"x","${name}":"x"}`, refused);
    await assertRefused(`{"${name}":{"name":"x"}}`, /no such field|name: it is missing/);
    const { body } = await service.call('POST', '/api/agents', { admin: true, json: { name } });
    const read = await service.call('GET', `/api/agents/${body.agent.id}`, { admin: true });
    assert.equal(read.body.agent.name, name);
    const scopes = await service.call('POST', '/api/agents', { admin: true, json: { name, scopes: [name] } });
    assertInvalid(scopes, /^scopes.0: it must be one of/);
  });

  test(`POST /oauth/token: ${name} as a parameter gives nobody a token`, async () => {
    const { clientId } = await service.createAgent();
    const text = `{"grant_type":"client_credentials","client_id":"${clientId}","${name}":{"client_secret":"x"}}`;
    const form = `grant_type=client_credentials&client_id=${clientId}&${name}=client_secret`;
    for (const raw of [
      { body: text, contentType: 'application/json' },
      { body: form, contentType: 'application/x-www-form-urlencoded' },
    ]) {
      assertInvalid(await service.call('POST', '/oauth/token', { raw }), /missing|no such field/);
    }
    const asClient = { grant_type: 'client_credentials', client_id: name, client_secret: name };
    assert.equal(
      (await service.call('POST', '/oauth/token', { json: asClient })).body.error,
      'invalid_client',
    );
    const asGrant = await service.call('POST', '/oauth/token', { json: { grant_type: name } });
    assert.equal(asGrant.body.error, 'unsupported_grant_type');
  });
}

test('POST /api/agents 400: NUL and halves of surrogate pairs are refused wherever they hide', async () => {
  for (const hidden of ['\\u0000', 'a\\u0000b', '\\ud800', 'a\\udc00b', '\\udc00\\ud800']) {
    await assertRefused(`{"name":"${hidden}"}`, /NUL character or half of a surrogate pair/);
    await assertRefused(`{"name":"x","${hidden}":1}`, /NUL character or half of a surrogate pair/);
    await assertRefused(`{"name":"x","scopes":["${hidden}"]}`, /NUL character or half of a surrogate pair/);
  }
});

test('POST /api/agents 201: a whole surrogate pair is a letter', async () => {
  const raw = { body: '{"name":"\\ud83e\\udd8a"}', contentType: 'application/json' };
  const { body } = await service.call('POST', '/api/agents', { admin: true, raw });
  assert.equal(body.agent.name, '🦊');
});

test('POST /api/agents 400: bytes that are not UTF-8 are refused', async () => {
  for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]]) {
    const body = Buffer.concat([Buffer.from('{"name":"'), Buffer.from(bytes), Buffer.from('"}')]);
    await assertRefused(body, /not valid UTF-8/);
  }
});

test('POST /api/agents 400: nesting beyond reason is refused', async () => {
  await assertRefused(`{"name":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, /nested too deeply/);
  await assertRefused(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, /nested too deeply/);
  await assertRefused('['.repeat(60_000), /not valid JSON/);
});

test('POST /oauth/token 400: broken percent-encoding in a form is refused', async () => {
  for (const value of ['%', '%z', '%zz', '%c0%af', '%ed%a0%80', '%f4%90%80%80', 'a%']) {
    const raw = {
      body: `grant_type=client_credentials&client_id=${value}`,
      contentType: 'application/x-www-form-urlencoded',
    };
    assertInvalid(await service.call('POST', '/oauth/token', { raw }), /broken percent-encoding/);
  }
});

test('POST /oauth/token 400: NUL in a form is refused', async () => {
  for (const body of ['grant_type=client_credentials%00', 'grant%00type=x&grant_type=client_credentials']) {
    const raw = { body, contentType: 'application/x-www-form-urlencoded' };
    assertInvalid(await service.call('POST', '/oauth/token', { raw }), /NUL/);
  }
});

test('POST /oauth/introspect 400: raw bytes in a form that are not UTF-8 are refused', async () => {
  const body = Buffer.concat([Buffer.from('token='), Buffer.from([0xff, 0xfe])]);
  const raw = { body, contentType: 'application/x-www-form-urlencoded' };
  assertInvalid(await service.call('POST', '/oauth/introspect', { raw }), /not valid UTF-8/);
});

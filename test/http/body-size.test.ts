import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, basic, startService, type TestService } from '../harness.ts';
import { errorOf, exchange } from './raw.ts';

const LARGEST = 64 * 1024;
const authorization = basic(ADMIN.email, ADMIN.password);

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

/** JSON of exactly that many bytes, blanks at its end. */
const jsonOf = (size: number): string => '{"name":"large"}'.padEnd(size, ' ');
const formOf = (size: number): string => 'token=x&padding='.padEnd(size, 'x');
const agentCount = async () => (await service.call('GET', '/api/agents', { admin: true })).body.agents.length;

test('POST /api/agents 201: a JSON body of exactly 64 KiB is accepted', async () => {
  const raw = { body: jsonOf(LARGEST), contentType: 'application/json' };
  assert.equal((await service.call('POST', '/api/agents', { admin: true, raw })).status, 201);
});

test('POST /api/agents 413: one byte more is refused, and no agent is made of it', async () => {
  const count = await agentCount();
  const raw = { body: jsonOf(LARGEST + 1), contentType: 'application/json' };
  const { status, body } = await service.call('POST', '/api/agents', { admin: true, raw });
  assert.deepEqual([status, body.error], [413, 'payload_too_large']);
  assert.equal(await agentCount(), count);
});

test('POST /oauth/introspect: a form of exactly 64 KiB is read, one byte more is 413', async () => {
  const send = (size: number) =>
    service.call('POST', '/oauth/introspect', {
      raw: { body: formOf(size), contentType: 'application/x-www-form-urlencoded' },
    });
  assert.equal((await send(LARGEST)).status, 200);
  const { status, body } = await send(LARGEST + 1);
  assert.deepEqual([status, body.error], [413, 'payload_too_large']);
});

for (const [path, body, type, accepted] of [
  ['/api/agents', jsonOf, 'application/json', 201],
  ['/oauth/introspect', formOf, 'application/x-www-form-urlencoded', 200],
] as const) {
  test(`POST ${path}: a chunked body meets the same limit without a Content-Length`, async () => {
    const send = (size: number) => {
      const bytes = Buffer.from(body(size));
      return exchange(service.url, {
        method: 'POST',
        path,
        headers: { ...(path === '/api/agents' && { authorization }), 'content-type': type },
        chunks: [bytes.subarray(0, 1000), bytes.subarray(1000, 50_000), bytes.subarray(50_000)],
      });
    };
    assert.equal((await send(LARGEST)).status, accepted);
    const refused = await send(LARGEST + 1);
    assert.equal(refused.status, 413);
    assert.equal(errorOf(refused.text), 'payload_too_large');
  });
}

test('POST /api/agents 413: what Content-Length announces is enough', async () => {
  const answer = await exchange(service.url, {
    method: 'POST',
    path: '/api/agents',
    headers: {
      authorization,
      'content-type': 'application/json',
      'content-length': 10_000_000,
      expect: '100-continue',
    },
  }).catch((error: unknown) => error);
  assert.ok(typeof answer === 'object' && answer !== null && 'status' in answer);
  assert.equal(answer.status, 413);
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, basic, startService, type TestService } from '../harness.ts';
import { converse, errorOf, exchange } from './raw.ts';

const authorization = basic(ADMIN.email, ADMIN.password);

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

async function assertBadRequest(bytes: string | Buffer): Promise<void> {
  const answer = await converse(service.url, bytes);
  assert.match(answer, /^HTTP\/1\.1 4\d\d .+\r\n/, String(bytes).slice(0, 60));
  assert.match(answer, /content-type: application\/json/i);
  assert.equal(errorOf(answer), 'invalid_request');
  assert.equal((await service.call('GET', '/livez')).status, 200);
}

test('400: what is not HTTP is answered with the error body on the socket', async () => {
  await assertBadRequest('GET\r\n\r\n');
  await assertBadRequest('hello there\r\n\r\n');
  await assertBadRequest('FROB /livez HTTP/1.1\r\nhost: x\r\n\r\n');
  await assertBadRequest('GET /livez HTTP/9.9\r\nhost: x\r\n\r\n');
  await assertBadRequest('GET /livez HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n');
  await assertBadRequest(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]));
});

test('400: a body whose length is said in two ways is refused', async () => {
  const head = 'POST /oauth/introspect HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';
  await assertBadRequest(`${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`);
  await assertBadRequest(`${head}content-length: 2\r\ncontent-length: 3\r\n\r\n{} `);
  await assertBadRequest(`${head}content-length: two\r\n\r\n{}`);
  await assertBadRequest(`${head}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n`);
});

test('400: a header of more than 16 KiB is refused, and so is a URL', async () => {
  await assertBadRequest(`GET /livez HTTP/1.1\r\nhost: x\r\nx-large: ${'x'.repeat(20_000)}\r\n\r\n`);
  await assertBadRequest(`GET /livez?${'x'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`);
});

test('400: a request without a Host header is refused with the error body', async () => {
  await assertBadRequest('GET /livez HTTP/1.1\r\nconnection: close\r\n\r\n');
});

test('an expectation that nobody knows is ignored', async () => {
  const answer = await converse(
    service.url,
    'GET /livez HTTP/1.1\r\nhost: x\r\nexpect: the-unexpected\r\nconnection: close\r\n\r\n',
  );
  assert.match(answer, /^HTTP\/1\.1 200 OK/);
  assert.match(answer, /\{"status":"ok"\}/);
});

test('pipelined requests are answered in their order, each with its own answer', async () => {
  const get = (path: string, last = false) =>
    `GET ${path} HTTP/1.1\r\nhost: x\r\n${last ? 'connection: close\r\n' : ''}\r\n`;
  const answer = await converse(
    service.url,
    get('/livez') + get('/nowhere') + get('/api/agents') + get('/livez', true),
  );
  assert.deepEqual(
    [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]),
    ['200', '404', '401', '200'],
  );
});

test('400: two Authorization headers are refused, whatever they hold', async () => {
  const agent = await service.createAgent();
  const { accessToken } = await service.tokens(agent);
  const bearer = `Bearer ${accessToken}`;
  for (const [path, values] of [
    ['/api/agents', [authorization, authorization]],
    ['/api/agents', [authorization, bearer]],
    ['/api/agents/me', [bearer, bearer]],
    ['/api/agents/me', ['', bearer]],
  ] as const) {
    const lines = values.map((value) => `Authorization: ${value}\r\n`).join('');
    await assertBadRequest(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${lines}\r\n`);
  }
});

test('POST /oauth/token 400: two Authorization headers get no token', async () => {
  const agent = await service.createAgent();
  const credentials = basic(agent.clientId, agent.clientSecret);
  const body = 'grant_type=client_credentials';
  await assertBadRequest(
    `POST /oauth/token HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: ${credentials}\r\nAUTHORIZATION: ${credentials}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  const read = await service.call('GET', `/api/agents/${agent.id}`, { admin: true });
  assert.equal(read.body.agent.token_count, 0);
});

test('a caller’s own request id comes back in x-request-id', async () => {
  for (const id of ['a', 'deploy-42', 'x'.repeat(64), 'A.b:c_d-e']) {
    const { headers } = await exchange(service.url, {
      method: 'GET',
      path: '/livez',
      headers: { 'x-request-id': id },
    });
    assert.equal(headers['x-request-id'], id);
  }
});

test('a hostile, long or repeated request id is replaced by one of ours', async () => {
  for (const id of ['', 'a b', 'x'.repeat(65), '{"level":60}', '<script>', 'ü', ['a', 'b']]) {
    const given = typeof id === 'string' ? Buffer.from(id).toString('latin1') : id;
    const headers = { 'x-request-id': given };
    const answer = await exchange(service.url, { method: 'GET', path: '/livez', headers });
    assert.match(String(answer.headers['x-request-id']), /^req_[0-9a-z]{26}$/);
  }
});

test('each request without an id gets one of its own, errors of every kind too', async () => {
  const seen = new Set<unknown>();
  for (const path of ['/livez', '/nowhere', '/api/agents', '/livez']) {
    const { headers } = await exchange(service.url, { method: 'GET', path });
    assert.match(String(headers['x-request-id']), /^req_/);
    seen.add(headers['x-request-id']);
  }
  assert.equal(seen.size, 4);
});

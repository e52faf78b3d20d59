import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import Fastify from 'fastify';
import { limitWork } from '../../src/http/work-limit.ts';
import { send, startService, type TestService } from '../harness.ts';
import { converse, errorOf, exchange } from '../http/raw.ts';

let service: TestService;
before(async () => {
  service = await startService({ env: { SIGNET_MAX_CONNECTIONS: '12', SIGNET_REQUEST_SECONDS: '1' } });
});
after(() => service.stop());

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Writes the text a byte at a time until the service closes; answers what came back. */
async function drip(head: string, slowly: string): Promise<string> {
  const socket = await open();
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk;
  });
  socket.write(head);
  let sent = 0;
  const timer = setInterval(() => socket.write(slowly[sent++ % slowly.length] ?? ''), 100);
  await once(socket, 'close');
  clearInterval(timer);
  return received;
}

const POST =
  'POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9000\r\n\r\n';

test('408: a header or a body that comes byte by byte ends the connection, and others are served meanwhile', async () => {
  const slow = [
    drip('GET /livez HTTP/1.1\r\nhost: x\r\n', 'a: b\r\n'),
    drip('GET /livez HTTP/1.1\r\nhost: x\r\nx-pad: ', 'a'),
    drip(POST, ' '),
    drip('', ''),
  ];
  assert.equal((await service.call('GET', '/livez')).status, 200);
  const agent = await service.createAgent();
  assert.ok(await service.tokens(agent));
  for (const answer of await Promise.all(slow)) {
    assert.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/);
    assert.match(answer, /connection: close/i);
    assert.equal(errorOf(answer), 'request_timeout');
  }
});

test('SIGNET_MAX_CONNECTIONS: more connections are closed at once, the log says so, and room that returns is used', async () => {
  const held = await Promise.all(Array.from({ length: 11 }, open));
  const extra = await Promise.all(Array.from({ length: 3 }, open));
  await Promise.all(extra.slice(1).map((socket) => socket.closed || once(socket, 'close')));
  assert.ok(service.logLines.some((line) => line.includes('SIGNET_MAX_CONNECTIONS')));
  const ends = [...held, ...extra].map((socket) => socket.closed || once(socket, 'close'));
  for (const socket of [...held, ...extra]) socket.destroy();
  await Promise.all(ends);
  assert.equal((await send(service.url, 'GET', '/livez')).status, 200);
});

test('400: more than a hundred header lines, or a URL of more than 8 KiB, is refused', async () => {
  const lines = (count: number) => Array.from({ length: count }, (_, index) => `x-${index}: 1\r\n`).join('');
  const get = (path: string, header: string) =>
    converse(service.url, `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${header}\r\n`);
  assert.match(await get('/livez', lines(98)), /^HTTP\/1\.1 200/);
  const refusals = [
    await get('/livez', lines(99)),
    await get('/livez', lines(2500)),
    await get(`/livez?${'a'.repeat(8192)}`, ''),
  ];
  for (const refusal of refusals) {
    assert.match(refusal, /^HTTP\/1\.1 400/);
    assert.equal(errorOf(refusal), 'invalid_request');
  }
});

test('only the public keys, the metadata and the API document may be read by pages of other origins', async () => {
  const headers = { origin: 'https://elsewhere.test' };
  const { body } = await send(service.url, 'GET', '/openapi.json');
  const open: string[] = [];
  for (const path of [...Object.keys(body.paths), '/openapi.json', '/docs', '/nowhere']) {
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const answer = await exchange(service.url, { method, path, headers });
      const cors = Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'));
      if (cors.length > 0) open.push(`${method} ${path} ${cors.join(' ')}`);
    }
  }
  const allowed = [
    '/.well-known/jwks.json',
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
    '/openapi.json',
  ];
  assert.deepEqual(
    open.toSorted(),
    allowed.map((path) => `GET ${path} access-control-allow-origin`),
  );
});

test('every answer tells browsers to take it as data, and the page at /docs has the one policy under which it works', async () => {
  for (const path of ['/livez', '/nowhere', '/api/agents', '/.well-known/jwks.json']) {
    const { headers } = await send(service.url, 'GET', path);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
    assert.equal(headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'", path);
    assert.equal(headers.get('referrer-policy'), 'no-referrer', path);
  }
  for (const path of ['/docs', '/docs/static/swagger-ui.css']) {
    const { headers, status } = await send(service.url, 'GET', path);
    const policy = headers.get('content-security-policy') ?? '';
    assert.equal(status, 200, path);
    assert.match(policy, /default-src 'none'.+script-src 'self';.+frame-ancestors 'none'/, path);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  }
});

test('503: where too many requests are at work the next is refused, not kept; aliveness is answered', async () => {
  const app = Fastify();
  limitWork(app, 2);
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  app.get('/slow', async () => finished.then(() => 'done'));
  app.get('/livez', async () => 'alive');
  app.get('/broken', async () => Promise.reject(new Error('broken')));
  await app.ready();
  // An injection begins when it is waited for.
  const both = Promise.all([app.inject('/slow'), app.inject('/slow')]);
  const refused = await app.inject('/slow');
  assert.deepEqual([refused.statusCode, refused.json().code], [503, 'temporarily_unavailable']);
  assert.equal((await app.inject('/livez')).statusCode, 200);
  finish();
  for (const { statusCode } of await both) assert.equal(statusCode, 200);
  // What failed, and what was refused, holds no place.
  for (let count = 0; count < 5; count += 1) await app.inject('/broken');
  assert.equal((await app.inject('/slow')).statusCode, 200);
  await app.close();
});

test('503: one address cannot fill the places, and its requests give back what they held', async () => {
  const app = Fastify();
  limitWork(app, 16);
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  app.get('/slow', async () => finished.then(() => 'done'));
  app.get('/quick', async () => 'done');
  await app.ready();
  const from = (remoteAddress: string, url: string) => app.inject({ url, remoteAddress });
  const statuses: number[] = [];
  // Half of them to whoever comes, and two of the rest to each: of IPv6 the network counts.
  const crowd = ['10.0.0.1', '2001:db8::1', '2001:db8::2'].flatMap((address) =>
    Array.from({ length: 20 }, () =>
      from(address, '/slow').then(({ statusCode }) => statuses.push(statusCode)),
    ),
  );
  while (statuses.length < 60 - 12) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(new Set(statuses), new Set([503]));
  assert.equal((await from('10.0.0.2', '/quick')).statusCode, 200);
  assert.equal((await from('10.0.0.1', '/quick')).statusCode, 503);
  finish();
  await Promise.all(crowd);
  assert.equal(statuses.filter((status) => status === 200).length, 12);
  for (let count = 0; count < 20; count += 1) {
    assert.equal((await from('10.0.0.1', '/quick')).statusCode, 200);
  }
  await app.close();
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, basic, send, startService, type TestService } from '../harness.ts';
import { errorOf, exchange } from './raw.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];
const authorization = basic(ADMIN.email, ADMIN.password);

let service: TestService;
/** The documented paths with the methods that each has, HEAD beside each GET. */
let paths: Array<{ path: string; allowed: string[] }>;

before(async () => {
  service = await startService();
  const { body } = await send(service.url, 'GET', '/openapi.json');
  paths = Object.entries(body.paths as Record<string, object>).map(([template, operations]) => ({
    path: template.replace(/\{[^}]+\}/g, 'agent_01k0d4v3s6e8wbn7xtq5mzr2ch'),
    allowed: Object.keys(operations).flatMap((name) =>
      name === 'get' ? ['GET', 'HEAD'] : [name.toUpperCase()],
    ),
  }));
});
after(() => service.stop());

test('405: each path refuses each method that it does not have, and Allow names those that it has', async () => {
  assert.ok(paths.length > 25);
  for (const { path, allowed } of paths) {
    for (const method of METHODS.filter((candidate) => !allowed.includes(candidate))) {
      const { status, headers, text } = await exchange(service.url, { method, path });
      assert.equal(status, 405, `${method} ${path}`);
      assert.deepEqual(headers.allow?.split(', ').toSorted(), allowed.toSorted(), `${method} ${path}`);
      if (method !== 'HEAD') assert.equal(errorOf(text), 'method_not_allowed');
    }
  }
});

test('405: a wrong method is told before credentials, body and content type are looked at', async () => {
  const { status } = await service.call('PATCH', '/api/agents', {
    raw: { body: '{', contentType: 'text/plain' },
  });
  assert.equal(status, 405);
});

test('404: an unknown path is not found by any method, with and without credentials', async () => {
  for (const path of ['/', '/api', '/API/agents', '/oauth', '/oauth/tokens', '/.env', '//health']) {
    for (const method of METHODS) {
      for (const headers of [{}, { authorization }]) {
        const answer = await exchange(service.url, { method, path, headers });
        assert.equal(answer.status, 404, `${method} ${path}`);
        if (method !== 'HEAD') assert.equal(errorOf(answer.text), 'not_found');
      }
    }
  }
});

test('HEAD answers what GET answers, without the body', async () => {
  for (const path of ['/health', '/.well-known/jwks.json', '/api/agents']) {
    const [get, head] = [
      await exchange(service.url, { method: 'GET', path, headers: { authorization } }),
      await exchange(service.url, { method: 'HEAD', path, headers: { authorization } }),
    ];
    assert.deepEqual([head.status, head.text], [200, '']);
    assert.equal(head.headers['content-type'], get.headers['content-type']);
    assert.equal(head.headers['content-length'], get.headers['content-length']);
  }
});

test('400: percent-encoding that spells nothing is refused', async () => {
  for (const path of [
    '/api/agents/%zz',
    '/api/agents/%',
    '/api/agents/%c0%af',
    '/api/agents/%ed%a0%80',
    '/%zz',
  ]) {
    const answer = await exchange(service.url, { method: 'GET', path, headers: { authorization } });
    assert.equal(answer.status, 400, path);
    assert.equal(errorOf(answer.text), 'invalid_request');
    assert.ok(answer.headers['x-request-id']);
  }
});

test('400: NUL in a path or a query is refused', async () => {
  for (const path of ['/api/agents/%00', '/api/agents?q=%00', '/%00', '/api/agents/a%00b?limit=1']) {
    const answer = await exchange(service.url, { method: 'GET', path, headers: { authorization } });
    assert.equal(answer.status, 400, path);
    assert.equal(errorOf(answer.text), 'invalid_request');
  }
});

test('404: an encoded dot or slash is a part of an identifier and leads nowhere', async () => {
  for (const id of ['%2e%2e', '..%2f..%2fhealth', '%2e%2e%2fkeys', 'me%2fusage', '%252e%252e', '%6d%65%20']) {
    const path = `/api/agents/${id}`;
    const answer = await exchange(service.url, { method: 'GET', path, headers: { authorization } });
    assert.equal(answer.status, 404, path);
    assert.equal(errorOf(answer.text), 'not_found');
  }
});

test('an encoded letter is the letter: a path has one meaning', async () => {
  const { status } = await exchange(service.url, { method: 'GET', path: '/%68ealth' });
  assert.equal(status, 200);
  const guarded = await exchange(service.url, { method: 'GET', path: '/%61pi/agents' });
  assert.equal(guarded.status, 401);
});

test('GET /docs: a path out of its folder finds nothing', async () => {
  for (const path of ['/docs/static/../../package.json', '/docs/static/%2e%2e/%2e%2e/package.json']) {
    const { status, text } = await exchange(service.url, { method: 'GET', path });
    assert.equal(status >= 400 && status < 500, true, path);
    assert.equal(text.includes('signet'), false);
  }
});

test('404: an identifier of any length is not found, and no more', async () => {
  for (const length of [101, 201, 5000]) {
    const path = `/api/agents/${'a'.repeat(length)}`;
    const { status, text } = await exchange(service.url, { method: 'GET', path, headers: { authorization } });
    assert.ok([400, 404].includes(status), `${length}: ${status}`);
    assert.ok(['invalid_request', 'not_found'].includes(errorOf(text)));
  }
});

test('400: a query with an unknown, repeated or ill-typed parameter names it', async () => {
  for (const [query, field] of [
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=x', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['cursor=x', 'cursor'],
    ['is_active=maybe', 'is_active'],
    ['constructor=x', 'constructor'],
    ['lmit=1', 'lmit'],
  ] as const) {
    const { status, body } = await service.call('GET', `/api/agents?${query}`, { admin: true });
    assert.deepEqual([status, body.error], [400, 'invalid_request'], query);
    assert.ok(body.error_description.startsWith(field), body.error_description);
  }
});

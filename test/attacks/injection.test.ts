import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, basic, send, startService, type TestService } from '../harness.ts';
import { converse, errorOf, exchange } from '../http/raw.ts';

const SCRIPT = '<img src=x onerror=alert(1)></script><script>alert(1)</script>';
const BREAK = 'x\r\n{"level":60,"msg":"forged"}\r\n\u001b[2J\u2028';
const authorization = basic(ADMIN.email, ADMIN.password);

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

test('a stored name is data everywhere: answers that hold it are JSON, and no page holds it', async () => {
  const admin = true;
  const agent = await service.createAgent({ name: SCRIPT });
  const organization = { name: SCRIPT, slug: 'xss', owner_email: 'owner@x.test' };
  await service.call('POST', '/api/organizations', { admin, json: organization });
  const webhook = { name: SCRIPT, url: 'https://receiver.test/?<script>' };
  await service.call('POST', '/api/webhooks', { admin, json: webhook });
  let seen = 0;
  for (const path of ['/api/agents', `/api/agents/${agent.id}`, '/api/organizations', '/api/webhooks']) {
    const { headers, body } = await service.call('GET', path, { admin });
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    seen += JSON.stringify(body).includes(JSON.stringify(SCRIPT)) ? 1 : 0;
  }
  assert.equal(seen, 4);
  for (const path of [
    '/docs',
    '/docs/json',
    '/docs/static/swagger-initializer.js',
    '/openapi.json',
    '/metrics',
    '/health',
  ]) {
    assert.equal(
      JSON.stringify((await send(service.url, 'GET', path)).body).includes('onerror'),
      false,
      path,
    );
  }
});

test('what a caller writes into a path, a query or a field name comes back as JSON, and never as a header', async () => {
  for (const path of [
    `/${SCRIPT}`,
    `/docs/${SCRIPT}`,
    `/api/agents?${SCRIPT}=1`,
    '/docs/%0d%0aset-cookie:%20a=b',
    '/docs?%0d%0aset-cookie:a=b',
  ]) {
    const { headers, status } = await exchange(service.url, {
      method: 'GET',
      path: encodeURI(path).replaceAll('%25', '%'),
      headers: { authorization },
    });
    if (status >= 400) assert.match(String(headers['content-type']), /^application\/json/, path);
    assert.equal(headers['set-cookie'], undefined);
    assert.doesNotMatch(String(headers.location ?? ''), /[\r\n<]|^\/\/|^https?:/);
  }
  const { body, headers } = await service.call('POST', '/api/agents', {
    admin: true,
    json: { name: 'x', [SCRIPT]: 1 },
  });
  assert.equal(body.error, 'invalid_request');
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
});

test('line breaks in names, headers and requests forge no line of the log and no header of an answer', async () => {
  const { body } = await service.call('POST', '/api/agents', { admin: true, json: { name: BREAK } });
  assert.equal(body.agent.name, BREAK);
  await service.call('PUT', `/api/agents/${body.agent.id}`, { admin: true, json: { name: `${BREAK}2` } });
  await service.call('POST', '/api/agents', { admin: true, json: { [BREAK]: 1 } });
  await service.call('POST', '/oauth/token', {
    json: { grant_type: BREAK, client_id: BREAK, client_secret: BREAK },
  });
  for (const path of [
    '/nowhere%0d%0a%7b%22level%22:60%7d',
    '/api/agents/%0d%0a%1b%5b2J',
    '/api/agents?q=%0d%0aforged',
  ]) {
    await exchange(service.url, {
      method: 'GET',
      path,
      headers: { authorization, 'user-agent': '{"level":60}', 'x-request-id': 'a\tb' },
    });
  }
  for (const header of [
    'x-request-id: a\rlevel: 60',
    'x-request-id: a\n level: 60',
    'user-agent: a\r\n folded: 60',
    'user-agent: a\0b',
  ]) {
    const answer = await converse(
      service.url,
      `GET /livez HTTP/1.1\r\nhost: x\r\n${header}\r\nconnection: close\r\n\r\n`,
    );
    assert.doesNotMatch(answer.split('\r\n\r\n')[0] ?? '', /level: 60|folded/);
  }
  assert.ok(service.logLines.length > 5);
  for (const line of service.logLines) {
    assert.equal(line.trimEnd().split('\n').length, 1);
    const entry = JSON.parse(line) as { level: number; msg: string; reqId?: string };
    assert.ok(entry.level < 60 && entry.msg !== 'forged', line);
    // What would move a terminal is escaped.
    assert.ok([...line.trimEnd()].every((character) => character >= ' ' && character !== '\u2028'));
  }
});

test('no spelling of an administrator or agent path is served without credentials', async () => {
  const { body } = await send(service.url, 'GET', '/openapi.json');
  const guarded = Object.keys(body.paths).filter((path) => path.startsWith('/api/'));
  assert.ok(guarded.length > 15);
  for (const path of guarded) {
    const plain = path.replace(/\{\w+\}/g, 'x');
    const [, first, ...rest] = plain.split('/');
    const tail = rest.join('/');
    for (const spelling of [
      `//${first}/${tail}`,
      `/${first}//${tail}`,
      `/${first}/./${tail}`,
      `/health/../${first}/${tail}`,
      `/%2e/${first}/${tail}`,
      `/${first}%2f${tail}`,
      `/${first}\\${tail}`,
      `${plain}/`,
      `${plain}//`,
      `${plain}/.`,
      `${plain};x=1`,
      `${plain}.json`,
      `${plain}%20`,
      `${plain}%3f`,
      `${plain}#`,
      plain.toUpperCase(),
      `/%61pi/${tail}`,
      `http://other.test${plain}`,
    ]) {
      const { status, text } = await exchange(service.url, { method: 'GET', path: spelling });
      assert.ok([400, 401, 404, 405].includes(status), `${spelling}: ${status}`);
      assert.match(
        errorOf(text),
        /^(invalid_request|unauthorized|invalid_token|not_found|method_not_allowed)$/,
      );
    }
  }
});

test('a method in a header or a parameter is no method', async () => {
  const agent = await service.createAgent();
  for (const name of ['x-http-method-override', 'x-method-override', 'x-http-method']) {
    await service.call('GET', `/api/agents/${agent.id}`, { admin: true, headers: { [name]: 'DELETE' } });
    const json = { action: 'revoke_tokens', _method: 'DELETE' };
    await service.call('POST', `/api/agents/${agent.id}?_method=DELETE`, {
      admin: true,
      headers: { [name]: 'DELETE' },
      json,
    });
  }
  assert.equal((await service.call('GET', `/api/agents/${agent.id}`, { admin: true })).status, 200);
  for (const name of ['x-original-url', 'x-rewrite-url', 'x-forwarded-prefix']) {
    const { status } = await service.call('GET', '/health', { headers: { [name]: '/api/agents' } });
    assert.equal(status, 200);
    const guarded = await service.call('GET', '/api/agents', {
      headers: { [name]: '/health', 'x-forwarded-for': '127.0.0.1' },
    });
    assert.equal(guarded.status, 401);
  }
});

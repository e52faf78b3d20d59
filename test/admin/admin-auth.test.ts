import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { ADMIN, type Answer, basic, startService, type TestService } from '../harness.ts';

const CHALLENGE = 'Basic realm="signet", charset="UTF-8"';
const ID = 'x_00000000000000000000000000';
const ADMIN_PATHS = [
  ['GET', '/api/agents'],
  ['POST', '/api/agents'],
  ['GET', `/api/agents/${ID}`],
  ['PUT', `/api/agents/${ID}`],
  ['POST', `/api/agents/${ID}`],
  ['DELETE', `/api/agents/${ID}`],
  ['GET', '/api/organizations'],
  ['POST', '/api/organizations'],
  ['GET', `/api/organizations/${ID}`],
  ['PUT', `/api/organizations/${ID}`],
  ['DELETE', `/api/organizations/${ID}`],
  ['GET', `/api/organizations/${ID}/agents`],
  ['POST', `/api/organizations/${ID}/agents`],
  ['GET', `/api/organizations/${ID}/teams`],
  ['POST', `/api/organizations/${ID}/teams`],
  ['GET', `/api/organizations/${ID}/teams/${ID}`],
  ['PUT', `/api/organizations/${ID}/teams/${ID}`],
  ['DELETE', `/api/organizations/${ID}/teams/${ID}`],
  ['GET', '/api/webhooks'],
  ['POST', '/api/webhooks'],
  ['GET', `/api/webhooks/${ID}`],
  ['PUT', `/api/webhooks/${ID}`],
  ['DELETE', `/api/webhooks/${ID}`],
  ['GET', `/api/webhooks/${ID}/deliveries`],
  ['GET', '/api/webhook-events'],
  ['GET', '/api/keys'],
  ['POST', '/api/keys/rotate'],
] as const;
const AGENT_PATHS = [
  ['GET', '/api/agents/me'],
  ['GET', '/api/agents/me/usage'],
  ['POST', '/api/agents/me/rotate'],
  ['POST', '/api/agents/me/deactivate'],
  ['DELETE', '/api/agents/me/delete'],
] as const;

let service: TestService;
let accessToken: string;
before(async () => {
  service = await startService({ hasRealHash: true });
  const agent = await service.createAgent({ scopes: ['read', 'write', 'admin'] });
  accessToken = (await service.tokens(agent)).accessToken;
});
after(() => service.stop());

const list = (authorization: string): Promise<Answer> =>
  service.call('GET', '/api/agents', { headers: { authorization } });

function assertRefused(answer: Answer): void {
  assertError(answer, 401, 'unauthorized');
  assert.equal(answer.headers.get('www-authenticate'), CHALLENGE);
}

for (const [method, path] of ADMIN_PATHS) {
  test(`${method} ${path.replaceAll(ID, ':id')} 401: neither without credentials nor with an agent’s token`, async () => {
    assertRefused(await service.call(method, path));
    assertRefused(await service.call(method, path, { bearer: accessToken }));
  });
}

for (const [method, path] of AGENT_PATHS) {
  test(`${method} ${path} 401: an administrator is no agent`, async () => {
    const answer = await service.call(method, path, { admin: true });
    assertError(answer, 401, 'invalid_token');
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer /);
    assert.equal((await service.introspect(accessToken)).active, true);
  });
}

const encoded = (text: string): string => Buffer.from(text).toString('base64');
for (const [what, authorization] of [
  ['a wrong password', basic(ADMIN.email, 'wrong-horse-battery')],
  ['an empty password', basic(ADMIN.email, '')],
  ['a password with something behind it', basic(ADMIN.email, `${ADMIN.password} `)],
  ['a password in other case', basic(ADMIN.email, ADMIN.password.toUpperCase())],
  ['an unknown address', basic('nobody@signet.test', ADMIN.password)],
  ['an empty address', basic('', ADMIN.password)],
  ['no colon', `Basic ${encoded(ADMIN.email)}`],
  ['nothing behind the scheme', 'Basic'],
  ['broken base64', 'Basic %%%not-base64%%%'],
  ['base64 that does not spell UTF-8', `Basic ${Buffer.from([0xff, 0x3a, 0xfe]).toString('base64')}`],
  ['a control character', `Basic ${encoded(`${ADMIN.email}:${ADMIN.password}\n`)}`],
  ['another scheme', `Digest ${encoded(`${ADMIN.email}:${ADMIN.password}`)}`],
  ['the right credentials as a Bearer token', `Bearer ${encoded(`${ADMIN.email}:${ADMIN.password}`)}`],
  ['credentials without a scheme', encoded(`${ADMIN.email}:${ADMIN.password}`)],
] as const) {
  test(`GET /api/agents 401: ${what} is refused, and the challenge says what to send`, async () => {
    assertRefused(await list(authorization));
  });
}

test('GET /api/agents 401: an agent’s client credentials do not open an administrator path', async () => {
  const { clientId, clientSecret } = await service.createAgent({ scopes: ['admin'] });
  assertRefused(await list(basic(clientId, clientSecret)));
});

for (const [what, authorization] of [
  ['the address in other case', basic(ADMIN.email.toUpperCase(), ADMIN.password)],
  ['the scheme in other case', basic(ADMIN.email, ADMIN.password).replace('Basic', 'bASIC')],
] as const) {
  test(`GET /api/agents 200: ${what} is accepted`, async () => {
    assert.equal((await list(authorization)).status, 200);
  });
}

test('GET /api/agents 401: a wrong password right after a right one is refused, whatever is remembered', async () => {
  const [right, wrong] = [basic(ADMIN.email, ADMIN.password), basic(ADMIN.email, 'wrong-horse-battery')];
  for (let round = 0; round < 3; round++) {
    assert.equal((await list(right)).status, 200);
    assertRefused(await list(wrong));
    service.clock.advance({ seconds: 61 });
  }
  assert.equal((await list(right)).status, 200);
});

test('a refused administrator changes nothing', async () => {
  const before = (await list(basic(ADMIN.email, ADMIN.password))).body;
  const wrong = { email: ADMIN.email, password: 'wrong-horse-battery' };
  const answer = await service.call('POST', '/api/agents', { admin: wrong, json: { name: 'intruder' } });
  assertRefused(answer);
  assert.deepEqual((await list(basic(ADMIN.email, ADMIN.password))).body, before);
});

test('a right and a wrong password leave no trace of themselves in the log', async () => {
  await list(basic(ADMIN.email, 'tell-nobody-of-this'));
  const lines = service.logLines.join('');
  for (const password of [ADMIN.password, 'tell-nobody-of-this']) {
    assert.ok(!lines.includes(password) && !lines.includes(encoded(`${ADMIN.email}:${password}`)));
  }
  assert.ok(lines.includes('request refused'));
});

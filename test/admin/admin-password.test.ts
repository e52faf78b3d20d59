import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { type Answer, startService, type TestService } from '../harness.ts';

const email = 'Chief@Signet.Test';
const password = 'pässwörd:with:colons ☃ 🔑';

let service: TestService;
before(async () => {
  service = await startService({
    env: { SIGNET_ADMIN_EMAIL: email, SIGNET_ADMIN_PASSWORD: password },
    hasRealHash: true,
  });
});
after(() => service.stop());

const list = (credentials: { email: string; password: string }): Promise<Answer> =>
  service.call('GET', '/api/agents', { admin: credentials });

test('a password with colons and letters of any script opens administrator paths', async () => {
  assert.equal((await list({ email, password })).status, 200);
  assert.equal((await list({ email: email.toLowerCase(), password })).status, 200);
});

for (const [what, wrong] of [
  ['up to its first colon', 'pässwörd'],
  ['up to its last colon', 'pässwörd:with'],
  ['without its accents', 'password:with:colons ☃ 🔑'],
  ['with its letters decomposed', password.normalize('NFD')],
] as const) {
  test(`GET /api/agents 401: the password ${what} is another password`, async () => {
    assertError(await list({ email, password: wrong }), 401, 'unauthorized');
  });
}

test('passwords are stored as argon2id of 19 MiB and two passes, those of the first administrator and of others', async () => {
  const json = { email: 'other@signet.test', password: 'correct-horse-battery', role: 'viewer' };
  const { status } = await service.call('POST', '/api/administrators', {
    admin: { email, password },
    json,
  });
  assert.equal(status, 201);
  const rows = await service.query('select password_hash from administrators');
  assert.equal(rows.length, 2);
  for (const row of rows) {
    assert.match(String(row['password_hash']), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  }
});

test('the password in Latin-1 is refused, not mistaken', async () => {
  const bytes = Buffer.from(`${email}:pässwörd`, 'latin1').toString('base64');
  const answer = await service.call('GET', '/api/agents', { headers: { authorization: `Basic ${bytes}` } });
  assertError(answer, 401, 'unauthorized');
});

test('the password still works after a restart', async () => {
  await service.restart();
  assert.equal((await list({ email, password })).status, 200);
});

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, beforeEach, test } from 'node:test';
import { ADMIN, basic, startService, type TestService } from '../harness.ts';

const HERE = '127.0.0.1';
const ELSEWHERE = '127.0.0.2';

let service: TestService | null = null;
const running = (): TestService => service as TestService;
beforeEach(async () => {
  // One for all tests; each begins when what the one before did is long forgotten.
  service ??= await startService({ hasRealHash: true });
  service.clock.advance({ hours: 1 });
});
after(() => service?.stop());

interface Told {
  status: number;
  waitSeconds: number;
}

/** From an address of this machine's own choosing. */
function send(authorization: string, from: string): Promise<Told> {
  const options = { headers: { authorization }, localAddress: from, agent: false as const };
  return new Promise((resolve, reject) => {
    const sent = request(`${running().url}/api/webhook-events`, options, (answer) => {
      answer.resume();
      const waitSeconds = Number(answer.headers['retry-after'] ?? 0);
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, waitSeconds }));
    });
    sent.on('error', reject).end();
  });
}

let guesses = 0;
const guess = (from: string, email: string = ADMIN.email): Promise<Told> =>
  send(basic(email, `guess number ${++guesses}`), from);
const right = (from: string): Promise<Told> => send(basic(ADMIN.email, ADMIN.password), from);

async function guessFive(from: string, email?: string): Promise<void> {
  for (let index = 0; index < 5; index++) assert.equal((await guess(from, email)).status, 401);
}

for (const email of [ADMIN.email, 'nobody@signet.test']) {
  test(`after five wrong passwords of ${email} the address waits, and longer after the next wrong one`, async () => {
    await guessFive(HERE, email);
    assert.deepEqual(await guess(HERE, email), { status: 429, waitSeconds: 10 });
    running().clock.advance({ milliseconds: 9999 });
    assert.deepEqual(await guess(HERE, email), { status: 429, waitSeconds: 1 });
    running().clock.advance({ milliseconds: 1 });
    assert.equal((await guess(HERE, email)).status, 401);
    assert.deepEqual(await guess(HERE, email), { status: 429, waitSeconds: 20 });
    assert.equal((await guess(ELSEWHERE, email)).status, 401);
  });
}

test('the right password from another address works at once, and from the same one after the wait', async () => {
  await guessFive(HERE);
  assert.equal((await right(HERE)).status, 429);
  assert.equal((await right(ELSEWHERE)).status, 200);
  running().clock.advance({ seconds: 10 });
  assert.equal((await right(HERE)).status, 200);
  await guessFive(HERE);
});

test('guesses over many accounts, and wrong API keys, make the address wait; right keys and other addresses do not', async () => {
  const json = { name: 'script' };
  const made = await running().call('POST', '/api/administrators/me/keys', { admin: true, json });
  running().clock.advance({ hours: 1 });
  for (let index = 0; index < 50; index++) {
    const isKey = index % 10 > 0;
    const wrong = isKey ? send(`Bearer sk_wrong${index}`, HERE) : guess(HERE, `account${index}@signet.test`);
    assert.equal((await wrong).status, 401);
  }
  assert.deepEqual(await guess(HERE, 'one-more@signet.test'), { status: 429, waitSeconds: 10 });
  assert.equal((await send('Bearer sk_wrong', HERE)).status, 429);
  assert.equal((await send(`Bearer ${made.body.secret}`, HERE)).status, 200);
  assert.equal((await right(ELSEWHERE)).status, 200);
});

test('many that send the right password at once are all let in, whatever the limits', async () => {
  const answers = await Promise.all(Array.from({ length: 80 }, () => right(HERE)));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
});

test('what is remembered of a right password is no oracle for ever: after hundreds of guesses it waits like the rest', async () => {
  assert.equal((await right(HERE)).status, 200);
  await guessFive(HERE);
  assert.equal((await right(HERE)).status, 200);
  for (let index = 0; index < 30; index++) await Promise.all(Array.from({ length: 10 }, () => guess(HERE)));
  assert.equal((await right(HERE)).status, 429);
  assert.equal((await right(ELSEWHERE)).status, 200);
});

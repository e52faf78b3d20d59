import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, type Answer, startService, type TestService } from '../harness.ts';

const GUESSES = 200;

let service: TestService;
before(async () => {
  service = await startService({ hasRealHash: true });
});
after(() => service.stop());

const guess = (email: string, index: number): Promise<Answer> =>
  service.call('GET', '/api/agents', { admin: { email, password: `guess number ${index}` } });

for (const email of [ADMIN.email, 'nobody@signet.test']) {
  test(`${GUESSES} wrong logins of ${email} at once are each refused or told to wait, and a right one works some time after`, async () => {
    const answers = await Promise.all(Array.from({ length: GUESSES }, (_, index) => guess(email, index)));
    const told = answers.map(({ status, body }) => `${status} ${body.error}`);
    const kinds = new Set(told);
    assert.ok(kinds.has('401 unauthorized'));
    kinds.delete('401 unauthorized');
    kinds.delete('503 temporarily_unavailable');
    kinds.delete('429 too_many_attempts');
    assert.deepEqual([...kinds], []);
    for (const { status, headers } of answers) {
      if (status !== 401) assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    }
    service.clock.advance({ minutes: 5 });
    assert.equal((await service.call('GET', '/api/agents', { admin: true })).status, 200);
  });
}

test('while passwords are being guessed, agents get and check their tokens', async () => {
  const agent = await service.createAgent();
  const guesses = Array.from({ length: GUESSES }, (_, index) => guess(ADMIN.email, index));
  const { accessToken } = await service.tokens(agent);
  assert.equal((await service.introspect(accessToken)).active, true);
  const statuses = new Set((await Promise.all(guesses)).map(({ status }) => status));
  assert.ok([...statuses].every((status) => [401, 429, 503].includes(status)));
  service.clock.advance({ minutes: 5 });
});

test('an administrator who was recognized within the last minute gets through while passwords are being guessed', async () => {
  assert.equal((await service.call('GET', '/api/agents', { admin: true })).status, 200);
  const guesses = Array.from({ length: GUESSES }, (_, index) => guess(ADMIN.email, index));
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => service.call('GET', '/api/agents', { admin: true })),
  );
  await Promise.all(guesses);
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freePort } from '../../free-port.ts';
import { startService, type TestService } from '../../harness.ts';
import {
  answer,
  answerEndlessly,
  resetAfterHeaders,
  resetAtOnce,
  speakNonsense,
  startReceiver,
} from './receiver.ts';
import {
  afterAttempts,
  assertNothingSecret,
  assertSameEventSignedAfresh,
  type Delivery,
  hookTo,
  nextAttempt,
  sendOne,
} from './scene.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

interface Outcome {
  statusCode: number | null;
  error: string | null;
}

const answered = (statusCode: number): Outcome => ({ statusCode, error: null });
const unanswered = (error: string): Outcome => ({ statusCode: null, error });

function assertOutcomes({ attempt_history: history }: Delivery, { statusCode, error }: Outcome): void {
  const outcomes = history.map((attempt) => [attempt.status_code, attempt.error]);
  assert.deepEqual(outcomes, [
    [statusCode, error],
    [statusCode, error],
  ]);
}

for (const [what, behaviour, outcome] of [
  ['resets the connection before the headers', resetAtOnce, unanswered('connection reset')],
  ['resets the connection after the headers of a 200', resetAfterHeaders, unanswered('connection reset')],
  ['does not speak HTTP', speakNonsense, unanswered('the answer is not HTTP')],
  ['answers 404', answer(404), answered(404)],
  ['answers 500 without an end', answerEndlessly(500), answered(500)],
] as const) {
  test(`a receiver that ${what} is sent the same event again, and no more than max_retries times`, async (t) => {
    const { hook, receiver, first } = await sendOne(t, service, await startReceiver(behaviour));
    assert.deepEqual([first.status, first.attempts, first.failure_reason], ['retrying', 1, null]);
    const last = await nextAttempt(service, hook);
    assert.deepEqual([last.status, last.attempts, last.next_attempt_at], ['dead', 2, null]);
    assertOutcomes(last, outcome);
    assert.equal(receiver.seen.length, 2);
    assertSameEventSignedAfresh(receiver.seen, hook);
    assertNothingSecret(service, hook, { delivery: last, seen: receiver.seen });
  });
}

for (const [what, url, error] of [
  ['is down', async () => `http://127.0.0.1:${await freePort()}/`, 'connection refused'],
  ['has no address', () => 'http://x.invalid/', 'the name does not resolve'],
] as const) {
  test(`a receiver that ${what} is tried max_retries times`, async (t) => {
    const hook = await hookTo(t, service, await url());
    await service.createAgent();
    assert.equal((await afterAttempts(service, hook, 1)).status, 'retrying');
    const last = await nextAttempt(service, hook);
    assert.deepEqual([last.status, last.attempts], ['dead', 2]);
    assertOutcomes(last, unanswered(error));
    assertNothingSecret(service, hook, { delivery: last, seen: [] });
  });
}

for (const [what, behaviour, status] of [
  ['a huge 200', answer(200, {}, Buffer.alloc(4_000_000, 'x')), 'delivered'],
  ['an endless 200', answerEndlessly(200), 'delivered'],
  ['an endless 500', answerEndlessly(500), 'retrying'],
] as const) {
  test(`of ${what} 16 KiB are kept, the connection is closed, and the delivery is ${status}`, async (t) => {
    const { receiver, first } = await sendOne(t, service, await startReceiver(behaviour));
    assert.deepEqual([first.status, first.attempts], [status, 1]);
    assert.equal(first.attempt_history[0]?.response_start, 'x'.repeat(16 * 1024));
    await receiver.seen[0]?.closed;
    assert.equal(receiver.seen.length, 1);
  });
}

test('a 410 ends the delivery as gone and deactivates the webhook', async (t) => {
  const { hook, receiver, first } = await sendOne(t, service, await startReceiver(answer(410)));
  assert.deepEqual([first.status, first.failure_reason, first.attempts], ['failed', 'gone', 1]);
  assert.equal(first.next_attempt_at, null);
  const { body } = await service.call('GET', hook.path, { admin: true });
  assert.equal(body.webhook.is_active, false);
  assert.equal(receiver.seen.length, 1);
});

for (const status of [301, 302, 307, 308]) {
  test(`a ${status} is a failure: the internal address that it names is never connected to`, async (t) => {
    const internal = await startReceiver(answer(200));
    t.after(() => internal.close());
    const { hook, receiver, first } = await sendOne(
      t,
      service,
      await startReceiver(answer(status, { location: internal.url })),
    );
    assert.deepEqual([first.status, first.attempt_history[0]?.status_code], ['retrying', status]);
    assert.equal((await nextAttempt(service, hook)).status, 'dead');
    assert.deepEqual([receiver.seen.length, internal.connections], [2, 0]);
  });
}

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestService } from '../../harness.ts';
import { answer, startReceiver } from './receiver.ts';
import { assertSameEventSignedAfresh, nextAttempt, sendOne } from './scene.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const YEAR_SECONDS = 31_536_000;
const OWN_DELAY = [2000, 2200] as const;
const exactly = (seconds: number) => [seconds * 1000, seconds * 1000] as const;
const inSeconds = (seconds: number) => (now: number) => new Date(now + seconds * 1000).toUTCString();

for (const [what, status, header, [least, most]] of [
  ['120 seconds', 429, () => '120', exactly(120)],
  ['120 seconds', 503, () => '120', exactly(120)],
  ['a date in 5 minutes', 429, inSeconds(300), exactly(300)],
  ['a date in 5 minutes', 503, inSeconds(300), exactly(300)],
  ['a second, which is less than the backoff', 429, () => '1', OWN_DELAY],
  ['a date that is past', 503, inSeconds(-300), OWN_DELAY],
  ['a negative number', 503, () => '-120', OWN_DELAY],
  ['nonsense', 429, () => 'when the cows come home', OWN_DELAY],
  ['nothing', 429, () => '', OWN_DELAY],
  ['a year of seconds', 429, () => String(YEAR_SECONDS), exactly(3600)],
  ['a date in a year', 503, inSeconds(YEAR_SECONDS), exactly(3600)],
  ['more seconds than there are digits for', 503, () => '9'.repeat(400), OWN_DELAY],
  ['120 seconds where nobody may ask for them', 500, () => '120', OWN_DELAY],
] as const) {
  test(`a ${status} with a Retry-After of ${what} is tried again in ${least / 1000} seconds`, async (t) => {
    const now = service.clock.now();
    const receiver = await startReceiver(answer(status, { 'retry-after': header(now) }));
    const { hook, first } = await sendOne(t, service, receiver);
    assert.deepEqual([first.status, first.attempt_history[0]?.status_code], ['retrying', status]);
    const dueAt = Date.parse(String(first.next_attempt_at));
    assert.ok(dueAt - now >= least && dueAt - now <= most, `in ${dueAt - now} ms`);

    service.clock.advance({ milliseconds: dueAt - now - 1 });
    const last = await nextAttempt(service, hook);
    assert.deepEqual([last.status, last.attempts], ['dead', 2]);
    assertSameEventSignedAfresh(receiver.seen, hook);
    const sentAt = Number(receiver.seen[1]?.headers['webhook-timestamp']);
    assert.ok(sentAt >= Math.floor(dueAt / 1000));
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AttemptOutcome, afterAttempt, type NextState } from '../../src/webhooks/delivery.ts';

const NOW = 1_800_000_000_000;
const answered = (statusCode: number, retryAfterSeconds: number | null = null): AttemptOutcome => ({
  kind: 'answered',
  statusCode,
  retryAfterSeconds,
});
const next = (number: number, outcome: AttemptOutcome, maxAttempts = 3): NextState =>
  afterAttempt({ number, maxAttempts }, outcome, { now: NOW, random: 0 });
const retryingIn = (seconds: number): NextState => ({
  status: 'retrying',
  nextAttemptAt: NOW + seconds * 1000,
});

const FIRST = 1;
const LAST = 3;
const failures: ReadonlyArray<readonly [string, AttemptOutcome]> = [
  ['no answer', { kind: 'unanswered' }],
  ...[100, 199, 300, 301, 302, 307, 400, 401, 404, 408, 409, 411, 429, 500, 503, 599].map(
    (status) => [String(status), answered(status)] as const,
  ),
];

for (const status of [200, 201, 202, 204, 299]) {
  test(`${status} is a success at the first attempt and at the last`, () => {
    for (const number of [FIRST, LAST]) {
      assert.deepEqual(next(number, answered(status)), { status: 'delivered' });
    }
  });
}

for (const [what, outcome] of failures) {
  test(`after ${what}, what has attempts left is tried again, and what has none is dead`, () => {
    assert.deepEqual(next(FIRST, outcome), retryingIn(2));
    assert.deepEqual(next(LAST - 1, outcome), retryingIn(4));
    assert.deepEqual(next(LAST, outcome), { status: 'dead' });
    assert.deepEqual(next(LAST + 1, outcome), { status: 'dead' });
    assert.deepEqual(next(FIRST, outcome, 1), { status: 'dead' });
  });
}

for (const [what, outcome, reason] of [
  ['410', answered(410), 'gone'],
  ['410 with Retry-After', answered(410, 60), 'gone'],
  ['a refused address', { kind: 'blocked' }, 'blocked_target'],
] as const) {
  test(`after ${what} the delivery has failed as ${reason}, whatever attempts are left`, () => {
    for (const number of [FIRST, LAST]) {
      assert.deepEqual(next(number, outcome), { status: 'failed', reason });
    }
  });
}

for (const status of [429, 503]) {
  test(`Retry-After with ${status} makes the wait longer, an hour at most, and never shorter`, () => {
    assert.deepEqual(next(FIRST, answered(status, 30)), retryingIn(30));
    assert.deepEqual(next(FIRST, answered(status, 3600)), retryingIn(3600));
    assert.deepEqual(next(FIRST, answered(status, 31_536_000)), retryingIn(3600));
    for (const short of [0, 1, 2]) assert.deepEqual(next(FIRST, answered(status, short)), retryingIn(2));
    assert.deepEqual(next(LAST, answered(status, 30)), { status: 'dead' });
  });
}

for (const status of [301, 400, 408, 500, 502, 504]) {
  test(`Retry-After with ${status} is ignored`, () => {
    assert.deepEqual(next(FIRST, answered(status, 3000)), retryingIn(2));
  });
}

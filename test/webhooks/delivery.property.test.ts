import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { afterAttempt, parseRetryAfter, retryDelayMilliseconds } from '../../src/webhooks/delivery.ts';

const NOW = Date.UTC(2026, 0, 31, 9, 30);
const ONE_HOUR = 3600;
const failedAttempts = fc.integer({ min: 1, max: 100 });
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('without jitter the delays are 2, 4, 8, … seconds and an hour from the twelfth on', () => {
  const seconds = Array.from({ length: 14 }, (_, index) => retryDelayMilliseconds(index + 1, 0) / 1000);
  assert.deepEqual(seconds, [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600, 3600]);
  assert.equal(retryDelayMilliseconds(100, 0), ONE_HOUR * 1000);
});

test('jitter adds up to a tenth and takes nothing away', () => {
  fc.assert(
    fc.property(failedAttempts, random, (count, chance) => {
      const least = retryDelayMilliseconds(count, 0);
      const delay = retryDelayMilliseconds(count, chance);
      assert.ok(delay >= least, `${delay} is less than ${least}`);
      // A millisecond is what rounding up may add.
      assert.ok(delay <= least * 1.1 + 1, `${delay} is more than a tenth over ${least}`);
    }),
  );
  assert.ok(retryDelayMilliseconds(5, 0.9) > retryDelayMilliseconds(5, 0.1));
});

test('whatever the receiver asks for, the wait is what backoff says at least and an hour and a tenth at most', () => {
  const retryAfterSeconds = fc.option(fc.nat({ max: 10 ** 9 }));
  const statusCode = fc.constantFrom(429, 503, 500, 404);
  fc.assert(
    fc.property(failedAttempts, random, retryAfterSeconds, statusCode, (number, chance, asked, status) => {
      const outcome = { kind: 'answered', statusCode: status, retryAfterSeconds: asked } as const;
      const next = afterAttempt({ number, maxAttempts: 101 }, outcome, { now: NOW, random: chance });
      assert.ok(next.status === 'retrying');
      const wait = next.nextAttemptAt - NOW;
      assert.ok(wait >= retryDelayMilliseconds(number, chance), String(wait));
      assert.ok(wait <= ONE_HOUR * 1100 + 1, String(wait));
      if (status === 429 || status === 503) assert.ok(wait >= Math.min(asked ?? 0, ONE_HOUR) * 1000);
    }),
  );
});

for (const [what, header, seconds] of [
  ['seconds', '120', 120],
  ['seconds among blanks', ' 120 ', 120],
  ['zero', '0', 0],
  ['a year', '31536000', 31_536_000],
  ['a date', 'Sat, 31 Jan 2026 09:31:30 GMT', 90],
  ['a date of the obsolete RFC 850 form', 'Saturday, 31-Jan-26 09:31:30 GMT', 90],
  ['a past date', 'Sat, 31 Jan 2026 09:29:00 GMT', 0],
  ['a date a year ahead', 'Sun, 31 Jan 2027 09:30:00 GMT', 31_536_000],
  ['nothing', undefined, null],
  ['an empty value', '', null],
  ['nonsense', 'soon', null],
  ['a sentence', 'Come back tomorrow', null],
  ['a negative number', '-5', null],
  ['a fraction', '1.5', null],
  ['an exponent', '1e9', null],
  ['a unit', '10s', null],
  ['a date that there is not', 'Sat, 99 Foo 2026 09:31:30 GMT', null],
] as const) {
  test(`Retry-After: ${what} is read as ${seconds === null ? 'none' : `${seconds} s`}`, () => {
    assert.equal(parseRetryAfter(header, NOW), seconds);
  });
}

test('Retry-After: whatever a receiver sends is read as no seconds or as a number of them', () => {
  fc.assert(
    fc.property(fc.string(), (header) => {
      const seconds = parseRetryAfter(header, NOW);
      assert.ok(seconds === null || (Number.isInteger(seconds) && seconds >= 0), `${header}: ${seconds}`);
    }),
  );
});

test('Retry-After: every number of seconds up to ten digits and every date is understood', () => {
  fc.assert(
    fc.property(fc.nat({ max: 9_999_999_999 }), (seconds) => {
      assert.equal(parseRetryAfter(String(seconds), NOW), seconds);
    }),
  );
  fc.assert(
    fc.property(fc.integer({ min: -ONE_HOUR, max: 10 * ONE_HOUR }), (seconds) => {
      const date = new Date(NOW + seconds * 1000).toUTCString();
      assert.equal(parseRetryAfter(date, NOW), Math.max(0, seconds));
    }),
  );
});

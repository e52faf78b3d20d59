import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GuessLimits } from '../../src/admin/guess-limits.ts';
import { ServiceError } from '../../src/errors.ts';
import { TestClock } from '../clock.ts';

const EMAIL = 'a@signet.test';
const HERE = '192.0.2.1';

function open() {
  const clock = new TestClock();
  const limits = new GuessLimits(clock);
  /** How long the next wrong one has to wait; 0 where it is let in, and then it is wrong. */
  const wrong = (address = HERE, email = EMAIL): number => {
    try {
      limits.begin(email, address).wrong();
      return 0;
    } catch (error) {
      assert.ok(error instanceof ServiceError && error.code === 'too_many_attempts');
      return Number(error.headers['retry-after']);
    }
  };
  return { clock, limits, wrong };
}

const times = (count: number, run: () => number): number[] => Array.from({ length: count }, () => run());

test('the wait doubles with each wrong one after it, up to five minutes, and no further', () => {
  const { clock, wrong } = open();
  assert.deepEqual(times(5, wrong), [0, 0, 0, 0, 0]);
  for (const seconds of [10, 20, 40, 80, 160, 300, 300]) {
    assert.equal(wrong(), seconds);
    clock.advance({ milliseconds: seconds * 1000 - 1 });
    assert.equal(wrong(), 1);
    clock.advance({ milliseconds: 1 });
    assert.equal(wrong(), 0);
  }
});

test('turning away does not make the wait longer, and ten quiet minutes after it all is forgotten', () => {
  const { clock, wrong } = open();
  times(5, wrong);
  assert.deepEqual(times(3, wrong), [10, 10, 10]);
  clock.advance({ seconds: 10, minutes: 10 });
  assert.deepEqual(times(6, wrong), [0, 0, 0, 0, 0, 10]);
});

test('wrong ones minutes apart make nobody wait, and neither do four before a right one', () => {
  const { clock, limits, wrong } = open();
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(times(4, wrong), [0, 0, 0, 0]);
    clock.advance({ seconds: 61 });
  }
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(times(4, wrong), [0, 0, 0, 0]);
    limits.begin(EMAIL, HERE).right();
  }
});

test('a right password of one account does not wash away what its address did to others', () => {
  const { limits, wrong } = open();
  for (let index = 0; index < 50; index++) {
    assert.equal(wrong(HERE, `${index}@signet.test`), 0);
    if (index < 49) limits.begin('own@signet.test', HERE).right();
  }
  assert.equal(wrong(HERE, 'one-more@signet.test'), 10);
  assert.equal(wrong('192.0.2.2'), 0);
});

test('an IPv6 network is one address, and an IPv4 address is the same in its IPv6 form', () => {
  const { wrong } = open();
  let last = 0;
  assert.deepEqual(
    times(6, () => wrong(`2001:db8:1:2::${++last}`)),
    [0, 0, 0, 0, 0, 10],
  );
  assert.equal(wrong('2001:db8:1:3::1'), 0);
  times(5, wrong);
  assert.deepEqual([wrong(`::ffff:${HERE}`), wrong('192.0.2.2')], [10, 0]);
});

test('guesses that are under way count: a flood at once gets no more of them than one after the other', () => {
  const { clock, limits, wrong } = open();
  const attempts = Array.from({ length: 5 }, () => limits.begin(EMAIL, HERE));
  assert.equal(wrong(), 1);
  attempts[0]?.undone();
  assert.equal(wrong(), 0);
  for (const attempt of attempts.slice(1)) attempt.wrong();
  clock.advance({ seconds: 10 });
  const single = limits.begin(EMAIL, HERE);
  assert.equal(wrong(), 1);
  single.wrong();
  assert.equal(wrong(), 20);
});

test('memory is bounded: ten thousand later ones make the limits forget the oldest', () => {
  const { wrong } = open();
  times(5, wrong);
  assert.equal(wrong(), 10);
  const others = (count: number) => {
    for (let index = 0; index < count; index++) wrong(`10.0.${index >> 8}.${index & 255}`);
  };
  others(9000);
  assert.equal(wrong(), 10);
  others(10_000);
  assert.equal(wrong(), 0);
});

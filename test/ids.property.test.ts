import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createIds, digestSecret, hasValidChecksum, isSameDigest, SORTABLE_PATTERN } from '../src/ids.ts';

const sortable = new RegExp(`^${SORTABLE_PATTERN}$`);
const EPOCH = 1_800_000_000_000;
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** A clock that takes these steps, forwards and backwards, one per reading. */
function steppingClock(steps: readonly number[]) {
  let now = EPOCH;
  let reading = 0;
  return {
    now: () => {
      now += steps[reading % steps.length] ?? 0;
      reading += 1;
      return now;
    },
  };
}

/** RFC 9562 bytes of the 26 characters. */
function decode(text: string): bigint {
  let value = 0n;
  for (const character of text) value = value * 32n + BigInt(ALPHABET.indexOf(character));
  return value;
}

const randomSources = fc.constantFrom<((size: number) => Uint8Array) | undefined>(
  undefined,
  (size) => new Uint8Array(size),
  (size) => new Uint8Array(size).fill(0xff),
);

test('ids sort in the order of their making, within a millisecond and with a clock that goes back', () => {
  const steps = fc.array(fc.constantFrom(0, 0, 0, 1, 7, 1000, -1, -5000), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(steps, randomSources, (taken, random) => {
      const ids = createIds(steppingClock(taken), random);
      const made = Array.from({ length: 60 }, () => ids.newSortable());
      assert.deepEqual(made.toSorted(), made);
      assert.equal(new Set(made).size, made.length);
      for (const id of made) assert.match(id, sortable);
    }),
  );
});

test('an id is a UUIDv7 of the time of its making', () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 47 }), (now) => {
      const value = decode(createIds({ now: () => now }).newSortable());
      assert.equal(value >> 80n, BigInt(now));
      assert.equal((value >> 76n) & 15n, 7n);
      assert.equal((value >> 62n) & 3n, 2n);
    }),
  );
});

test('ids and secrets have their prefix and their alphabet', () => {
  const ids = createIds({ now: () => EPOCH });
  for (const prefix of ['agent', 'org', 'team', 'webhook', 'delivery', 'evt', 'key', 'cid'] as const) {
    assert.match(ids.newId(prefix), new RegExp(`^${prefix}_${SORTABLE_PATTERN}$`));
  }
  assert.match(ids.newClientSecret(), /^cs_[0-9a-hjkmnp-tv-z]{59}$/);
  assert.match(ids.newApiKeySecret(), /^sk_[0-9a-hjkmnp-tv-z]{59}$/);
  assert.match(ids.newWebhookSecret(), /^whsec_[A-Za-z0-9+/]{44}$/);
});

test('ten thousand ids and secrets are all different', () => {
  const ids = createIds({ now: () => EPOCH });
  for (const make of [
    ids.newSortable,
    ids.newClientSecret,
    ids.newApiKeySecret,
    ids.newRefreshTokenSecret,
    ids.newWebhookSecret,
  ]) {
    assert.equal(new Set(Array.from({ length: 10_000 }, () => make())).size, 10_000);
  }
});

test('the checksum of a secret catches every change of one character', () => {
  const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
  fc.assert(
    fc.property(bytes, fc.nat({ max: 58 }), (random, at) => {
      const secret = createIds({ now: () => EPOCH }, () => random).newRefreshTokenSecret();
      assert.equal(hasValidChecksum(secret), true);
      for (const character of `${ALPHABET}A-_ `) {
        const changed = secret.slice(0, at) + character + secret.slice(at + 1);
        assert.equal(hasValidChecksum(changed), changed === secret, changed);
      }
      assert.equal(hasValidChecksum(secret.slice(0, at)), false);
    }),
  );
});

test('a secret carries all 256 of its random bits', () => {
  const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
  fc.assert(
    fc.property(bytes, (random) => {
      const secret = createIds({ now: () => EPOCH }, () => random).newClientSecret();
      const bits = decode(secret.slice(3, 55));
      assert.equal(bits.toString(16).padStart(64, '0'), Buffer.from(random).toString('hex'));
    }),
  );
});

test('digests are the same exactly where the secrets are', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      assert.equal(isSameDigest(digestSecret(one), digestSecret(one)), true);
      assert.equal(isSameDigest(digestSecret(one), digestSecret(other)), one === other);
    }),
  );
});

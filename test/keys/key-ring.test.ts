import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { SERVICE } from '../../src/audit/actor.ts';
import type { KeyRing } from '../../src/keys/key-ring.ts';
import { LONGEST_TOKEN, newMasterKey, type OpenRing, openRing, ROTATION } from './key-ring.ts';

let opened: OpenRing | null = null;
let ring: KeyRing;
async function open(): Promise<OpenRing> {
  await opened?.close();
  opened = await openRing();
  ring = opened.ring;
  return opened;
}
beforeEach(async () => {
  await open();
});
after(async () => {
  await opened?.close();
});

const now = () => (opened as OpenRing).clock;
const kids = (status: string, of: KeyRing = ring) =>
  of.keys.filter((key) => key.status === status).map(({ kid }) => kid);

test('maintain rotates when the active key has signed for its time, and only then', async () => {
  const [active, next] = [kids('active'), kids('next')];
  now().advance({ milliseconds: ROTATION - 1 });
  await ring.maintain();
  assert.deepEqual([kids('active'), kids('next')], [active, next]);
  now().advance({ milliseconds: 1 });
  await ring.maintain();
  assert.deepEqual([kids('active'), kids('retiring')], [next, active]);
  await ring.maintain();
  assert.deepEqual([kids('active'), kids('retiring')], [next, active]);
});

test('maintain, many times at once, rotates once', async () => {
  const [active, next] = [kids('active'), kids('next')];
  now().advance({ milliseconds: ROTATION });
  await Promise.all(Array.from({ length: 5 }, () => ring.maintain()));
  assert.deepEqual([kids('active'), kids('retiring')], [next, active]);
  assert.equal(kids('next').length, 1);
});

test('a rotated key verifies until its last token has expired, then it is forgotten', async () => {
  const [old] = kids('active');
  const token = await ring.sign({ sub: 'x' });
  await ring.rotate(SERVICE);
  now().advance({ milliseconds: LONGEST_TOKEN - 1 });
  await ring.maintain();
  assert.ok(ring.publicJwks.some(({ kid }) => kid === old));
  assert.deepEqual(ring.verify(token), { sub: 'x' });
  now().advance({ milliseconds: 1 });
  await ring.maintain();
  assert.equal(
    ring.publicJwks.some(({ kid }) => kid === old),
    false,
  );
  assert.equal(ring.verify(token), null);
});

test('a key is published by a rotation earlier than it signs', async () => {
  for (let round = 0; round < 3; round++) {
    const published = ring.publicJwks.map(({ kid }) => kid);
    await ring.rotate(SERVICE);
    assert.ok(published.includes(kids('active')[0] ?? ''));
  }
});

test('signing while a rotation is under way gives tokens that verify', async () => {
  const signing = Array.from({ length: 10 }, (_, n) => ring.sign({ n }));
  const [tokens] = await Promise.all([Promise.all(signing), ring.rotate(SERVICE)]);
  assert.deepEqual(
    tokens.map((token) => ring.verify(token)),
    tokens.map((_, n) => ({ n })),
  );
});

test('a ring that is opened again on the same database has the same keys', async () => {
  const token = await ring.sign({ sub: 'x' });
  const again = await (opened as OpenRing).another();
  assert.deepEqual(again.keys, ring.keys);
  assert.deepEqual(again.verify(token), { sub: 'x' });
  assert.deepEqual(ring.verify(await again.sign({ sub: 'y' })), { sub: 'y' });
});

test('a ring does not open with another master key', async () => {
  await assert.rejects((opened as OpenRing).another(newMasterKey()));
});

test('rings of different databases do not verify each other’s tokens', async () => {
  const token = await ring.sign({ sub: 'x' });
  const other = await openRing();
  try {
    assert.equal(other.ring.verify(token), null);
  } finally {
    await other.close();
  }
});

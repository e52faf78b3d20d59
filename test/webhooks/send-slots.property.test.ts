import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Candidate, dealSlots, freeSlots, SLOT_LIMITS } from '../../src/webhooks/send-slots.ts';

const LIMITS = { total: 8, perWebhook: 4, perProbedWebhook: 1 };

const candidates = fc
  .array(fc.record({ isProbed: fc.boolean(), inFlight: fc.nat(4) }), { maxLength: 30 })
  .map((list) => list.map((candidate, index) => ({ webhookId: `webhook_${index}`, ...candidate })));
const free = fc.nat(LIMITS.total);
const turn = fc.nat();

const mayHave = ({ isProbed }: Candidate) => (isProbed ? LIMITS.perProbedWebhook : LIMITS.perWebhook);
const sum = (dealt: ReadonlyMap<string, number>) => [...dealt.values()].reduce((a, b) => a + b, 0);
const idle = (count: number): Candidate[] =>
  Array.from({ length: count }, (_, index) => ({
    webhookId: `webhook_${index}`,
    isProbed: false,
    inFlight: 0,
  }));

test('64 requests in all, four to a webhook, one to a webhook that is probed', () => {
  assert.deepEqual(SLOT_LIMITS, { total: 64, perWebhook: 4, perProbedWebhook: 1 });
});

test('no more is dealt than is free, to nobody more than it may have, and to nobody nothing', () => {
  fc.assert(
    fc.property(candidates, free, turn, (list, left, start) => {
      const dealt = dealSlots(list, { free: left, turn: start, limits: LIMITS });
      assert.ok(sum(dealt) <= left);
      for (const [id, slots] of dealt) {
        const candidate = list.find(({ webhookId }) => webhookId === id) ?? assert.fail(`${id} is unknown`);
        assert.ok(slots > 0 && candidate.inFlight + slots <= mayHave(candidate), `${id} got ${slots}`);
      }
    }),
  );
});

test('no slot stays free while somebody may have one more', () => {
  fc.assert(
    fc.property(candidates, free, turn, (list, left, start) => {
      const dealt = dealSlots(list, { free: left, turn: start, limits: LIMITS });
      const wanted = list.reduce((all, candidate) => all + freeSlots(candidate, LIMITS), 0);
      assert.equal(sum(dealt), Math.min(left, wanted));
    }),
  );
});

test('nobody gets a second slot while another that may have one has none', () => {
  fc.assert(
    fc.property(candidates, free, turn, (list, left, start) => {
      const dealt = dealSlots(list, { free: left, turn: start, limits: LIMITS });
      const slots = list
        .filter((candidate) => freeSlots(candidate, LIMITS) > 0)
        .map((candidate) => ({
          got: dealt.get(candidate.webhookId) ?? 0,
          most: freeSlots(candidate, LIMITS),
        }));
      for (const one of slots) {
        for (const other of slots) assert.ok(one.got === one.most || other.got <= one.got + 1);
      }
    }),
  );
});

test('with more webhooks than slots each is served within as many turns as there are webhooks', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 8 }),
      turn,
      (count, left, start) => {
        const list = idle(count);
        const served = new Set<string>();
        for (let round = 0; round < count; round++) {
          for (const id of dealSlots(list, { free: left, turn: start + round, limits: LIMITS }).keys()) {
            served.add(id);
          }
        }
        assert.equal(served.size, count);
      },
    ),
  );
});

test('over as many turns as there are webhooks each gets the same number of slots', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 8 }), (count, left) => {
      const totals = new Map<string, number>();
      for (let round = 0; round < count; round++) {
        for (const [id, slots] of dealSlots(idle(count), { free: left, turn: round, limits: LIMITS })) {
          totals.set(id, (totals.get(id) ?? 0) + slots);
        }
      }
      assert.equal(totals.size, count);
      assert.equal(new Set(totals.values()).size, 1);
    }),
  );
});

test('one webhook alone gets its four and leaves the rest free', () => {
  const [one] = idle(1);
  assert.ok(one !== undefined);
  const deal = (candidate: Candidate) => [
    ...dealSlots([candidate], { free: 64, turn: 0, limits: SLOT_LIMITS }).values(),
  ];
  assert.deepEqual(deal(one), [4]);
  assert.deepEqual(deal({ ...one, inFlight: 3 }), [1]);
  assert.deepEqual(deal({ ...one, isProbed: true }), [1]);
  assert.deepEqual(deal({ ...one, isProbed: true, inFlight: 1 }), []);
});

test('where nobody waits, or nothing is free, nothing is dealt', () => {
  assert.equal(dealSlots([], { free: 64, turn: 7, limits: SLOT_LIMITS }).size, 0);
  assert.equal(dealSlots(idle(3), { free: 0, turn: 7, limits: SLOT_LIMITS }).size, 0);
});

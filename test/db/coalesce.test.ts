import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { coalesce } from '../../src/db/coalesce.ts';
import { DatabaseUnavailable } from '../../src/db/database.ts';

/** Doubles numbers and keeps the batches that it was handed. */
function doubling(largestBatch = 32) {
  const batches: number[][] = [];
  const double = coalesce(
    async (items: readonly number[]) => {
      batches.push([...items]);
      await new Promise((resolve) => setImmediate(resolve));
      return items.map((item) => item * 2);
    },
    { largestBatch },
  );
  return { batches, double };
}

test('what arrives together is handed over together, and each caller gets his own result', async () => {
  const { batches, double } = doubling();
  assert.deepEqual(await Promise.all([double(1), double(2), double(3)]), [2, 4, 6]);
  assert.deepEqual(batches, [[1, 2, 3]]);
});

test('what arrives while a batch is under way waits for the next one', async () => {
  let later: Promise<number> = Promise.resolve(0);
  const batches: number[][] = [];
  const run = coalesce(async (items: readonly number[]) => {
    batches.push([...items]);
    if (batches.length === 1) later = run(2);
    return items;
  });
  await run(1);
  assert.equal(await later, 2);
  assert.deepEqual(batches, [[1], [2]]);
});

test('a batch holds at most 32 items', async () => {
  const { batches, double } = doubling();
  await Promise.all(Array.from({ length: 70 }, (_, item) => double(item)));
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [32, 32, 6],
  );
});

test('a batch that fails fails for each of its items, and for nobody else', async () => {
  const run = coalesce(
    async (items: readonly number[]) => {
      if (items.includes(1)) throw new Error('broken batch');
      return items;
    },
    { largestBatch: 2 },
  );
  const outcomes = await Promise.allSettled([run(0), run(1), run(2), run(3)]);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status),
    ['rejected', 'rejected', 'fulfilled', 'fulfilled'],
  );
  assert.equal(await run(4), 4);
});

test('what waits for too long behind a batch is refused, and what comes later is not', async () => {
  const batches: number[][] = [];
  const ends: (() => void)[] = [];
  const run = coalesce(
    async (items: readonly number[]) => {
      batches.push([...items]);
      if (batches.length === 1) await new Promise<void>((resolve) => ends.push(resolve));
      return items;
    },
    { longestWaitMilliseconds: 20 },
  );
  const first = run(1);
  await new Promise((resolve) => setImmediate(resolve));
  const refused = assert.rejects(run(2), DatabaseUnavailable);
  await new Promise((resolve) => setTimeout(resolve, 60));
  ends[0]?.();
  await refused;
  assert.deepEqual([await first, await run(3)], [1, 3]);
  assert.deepEqual(batches, [[1], [3]]);
});

test('for any arrivals and any limit: order kept, nobody forgotten, no batch too large', async () => {
  const bursts = fc.array(fc.array(fc.integer(), { maxLength: 20 }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(bursts, fc.integer({ min: 1, max: 9 }), async (arrivals, largestBatch) => {
      const { batches, double } = doubling(largestBatch);
      const answers: Promise<number>[] = [];
      for (const burst of arrivals) {
        answers.push(...burst.map(double));
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.deepEqual(
        await Promise.all(answers),
        arrivals.flat().map((item) => item * 2),
      );
      assert.deepEqual(batches.flat(), arrivals.flat());
      assert.ok(batches.every((batch) => batch.length > 0 && batch.length <= largestBatch));
    }),
    { numRuns: 50 },
  );
});

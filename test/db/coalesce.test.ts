import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { coalesce } from '../../src/db/coalesce.ts';

/** Doubles numbers and keeps the batches that it was handed. */
function doubling(largestBatch?: number) {
  const batches: number[][] = [];
  const double = coalesce(async (items: readonly number[]) => {
    batches.push([...items]);
    await new Promise((resolve) => setImmediate(resolve));
    return items.map((item) => item * 2);
  }, largestBatch);
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
  const run = coalesce(async (items: readonly number[]) => {
    if (items.includes(1)) throw new Error('broken batch');
    return items;
  }, 2);
  const outcomes = await Promise.allSettled([run(0), run(1), run(2), run(3)]);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status),
    ['rejected', 'rejected', 'fulfilled', 'fulfilled'],
  );
  assert.equal(await run(4), 4);
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

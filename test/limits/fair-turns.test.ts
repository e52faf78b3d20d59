import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../src/errors.ts';
import { FairTurns } from '../../src/oauth/fair-turns.ts';

const limits = { atOnce: 4, atOncePerKey: 2, waitingPerKey: 3, longestWaitMilliseconds: 60_000 };

/** Work that ends when it is told to, and keeps the order in which it began. */
function scene(changes: Partial<typeof limits> = {}) {
  const turns = new FairTurns({ ...limits, ...changes });
  const begun: string[] = [];
  const ends: Array<() => void> = [];
  const ask = (key: string): Promise<unknown> =>
    turns.run(key, () => {
      begun.push(key);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  const endOne = async (): Promise<void> => {
    ends.shift()?.();
    await new Promise(setImmediate);
  };
  return { begun, ask, endOne };
}

const isBusy = (error: unknown): boolean =>
  error instanceof ServiceError && error.status === 503 && error.headers['retry-after'] === '1';

test('one key never has more under way than its part, and all together never more than the whole', async () => {
  const { begun, ask } = scene();
  for (const key of ['a', 'a', 'a', 'b', 'b', 'b', 'c']) void ask(key);
  await new Promise(setImmediate);
  assert.deepEqual(begun, ['a', 'a', 'b', 'b']);
});

test('turns go round: who asks once waits for one turn of the one who asks for much', async () => {
  const { begun, ask, endOne } = scene({ atOnce: 1, atOncePerKey: 1 });
  for (const key of ['a', 'a', 'a', 'a', 'b', 'c']) void ask(key);
  for (let turn = 0; turn < 6; turn += 1) await endOne();
  assert.deepEqual(begun, ['a', 'a', 'b', 'c', 'a', 'a']);
});

test('what waits beyond the bound of its key is refused at once, and other keys are not', async () => {
  const { begun, ask } = scene({ atOncePerKey: 1 });
  for (let count = 0; count < 4; count += 1) void ask('a');
  await assert.rejects(ask('a'), isBusy);
  void ask('b');
  await new Promise(setImmediate);
  assert.deepEqual(begun, ['a', 'b']);
});

test('who has waited for too long is refused, and the one behind him gets his turn', async () => {
  const { begun, ask, endOne } = scene({ atOnce: 1, longestWaitMilliseconds: 30 });
  void ask('a');
  const late = assert.rejects(ask('b'), isBusy);
  await new Promise((resolve) => setTimeout(resolve, 60));
  void ask('c');
  await endOne();
  await late;
  assert.deepEqual(begun, ['a', 'c']);
});

test('work that fails gives its turn back', async () => {
  const turns = new FairTurns({ ...limits, atOnce: 1, atOncePerKey: 1 });
  const failing = turns.run('a', () => Promise.reject(new Error('broken')));
  const next = turns.run('a', async () => 'done');
  await assert.rejects(failing, /broken/);
  assert.equal(await next, 'done');
  assert.equal(await turns.run('b', async () => 'done'), 'done');
});

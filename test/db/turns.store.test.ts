import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeTurn } from '../../src/workers/turns.store.ts';
import { onEachDatabase } from './databases.ts';
import { ids, NOW } from './rows.ts';

onEachDatabase((opened) => {
  const take = (name: string, now: number) =>
    opened().database.readCommitted((tx) => takeTurn(tx, { name, now, until: now + 1000 }));

  test('of many that want a turn at once one gets it', async () => {
    const name = ids.newSortable();
    const taken = await Promise.all(Array.from({ length: 20 }, () => take(name, NOW)));
    assert.equal(taken.filter(Boolean).length, 1);
  });

  test('a turn is free again when its time is over, whatever became of its holder', async () => {
    const name = ids.newSortable();
    const times = [NOW, NOW + 999, NOW + 1000, NOW + 1999, NOW + 5000];
    const taken = [];
    for (const now of times) taken.push(await take(name, now));
    assert.deepEqual(taken, [true, false, true, false, true]);
  });

  test('turns of different names have nothing to do with each other', async () => {
    assert.deepEqual([await take(ids.newSortable(), NOW), await take(ids.newSortable(), NOW)], [true, true]);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Queries } from '../../src/db/database.ts';
import { prepared } from '../../src/db/prepared.ts';
import { onEachDatabase } from './databases.ts';

interface Entry {
  name: string;
  value: string;
}

const put = prepared<Entry>((db, value) =>
  db
    .insertInto('service_metadata')
    .values({ value: value('value'), name: value('name') })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: value('value') })),
);
const find = prepared<Entry, Entry>((db, value) => select(db, value('name'), value('value')));

/** A constant stands between the values, and the last one is used twice. */
const select = (db: Queries, name: string, other: string) =>
  db
    .selectFrom('service_metadata')
    .selectAll()
    .where((eb) => eb.or([eb('value', '=', other), eb('name', '=', 'constant'), eb('name', '=', name)]))
    .where('name', '!=', other)
    .orderBy('name');

/** A row has no prototype. */
const plain = ({ rows }: { rows: readonly Entry[] }): Entry[] => rows.map((row) => ({ ...row }));

const text = fc.string({ maxLength: 20, unit: 'grapheme' });
const entry = fc.record({ name: text, value: text });

onEachDatabase((opened) => {
  test('a prepared query finds what the plain one finds, whatever the values are', async () => {
    const { database } = opened();
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 10 }), text, text, async (entries, name, value) => {
        await database.transaction(async (tx) => {
          for (const each of entries) await put(tx, each);
        });
        const { rows } = await find(database.reader, { name, value });
        assert.deepEqual(rows, await select(database.reader, name, value).execute());
      }),
      { numRuns: 50 },
    );
  });

  test('what runs at once gets its own values, in transactions and out of them', async () => {
    const { database } = opened();
    const entries = Array.from({ length: 50 }, (_, index) => ({ name: `n${index}`, value: `v${index}` }));
    const found = await Promise.all(
      entries.map((each) =>
        database.transaction(async (tx) => {
          await put(tx, each);
          return plain(await find(tx, { name: each.name, value: 'none' }));
        }),
      ),
    );
    assert.deepEqual(
      found,
      entries.map((each) => [each]),
    );
    const read = entries.map((each) => find(database.reader, { name: 'none', value: each.value }));
    assert.deepEqual(
      (await Promise.all(read)).map(plain),
      entries.map((each) => [each]),
    );
  });

  test('the order of the values’ names and members that no query names make no difference', async () => {
    const { database } = opened();
    const entry = { unused: 'z', value: 'swapped value', name: 'swapped name' };
    await database.transaction((tx) => put(tx, entry));
    const found = await find(database.reader, { value: 'swapped value', name: 'another' });
    assert.deepEqual(plain(found), [{ name: 'swapped name', value: 'swapped value' }]);
  });

  test('a prepared write is counted as the plain one is', async () => {
    const { database } = opened();
    const remove = prepared<{ value: string }>((db, value) =>
      db.deleteFrom('service_metadata').where('value', '=', value('value')),
    );
    await database.transaction(async (tx) => {
      for (const name of ['c1', 'c2']) await put(tx, { name, value: 'counted' });
    });
    const removed = () => database.transaction((tx) => remove(tx, { value: 'counted' }));
    assert.equal((await removed()).numAffectedRows, 2n);
    assert.equal((await removed()).numAffectedRows, 0n);
  });
});

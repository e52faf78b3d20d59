import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Queries, UniqueViolation } from '../../src/db/database.ts';
import { onEachDatabase } from './databases.ts';
import { ids } from './rows.ts';

onEachDatabase((opened) => {
  const write = async (tx: Queries, name: string) => {
    await tx.insertInto('service_metadata').values({ name, value: 'x' }).execute();
  };
  const isThere = async (name: string) =>
    (await opened()
      .database.reader.selectFrom('service_metadata')
      .select('name')
      .where('name', '=', name)
      .executeTakeFirst()) !== undefined;
  const store = (name: string) => opened().database.transaction((tx) => write(tx, name));

  async function storeAndFail(name: string): Promise<never> {
    return opened().database.transaction(async (tx) => {
      await write(tx, name);
      throw new Error(`${name} fails`);
    });
  }

  test('what was acknowledged is read at once', async () => {
    const name = ids.newSortable();
    await store(name);
    assert.equal(await isThere(name), true);
  });

  test('a transaction answers what its work answers', async () => {
    assert.equal(await opened().database.transaction(async () => 'answer'), 'answer');
  });

  test('a transaction sees its own writes, and the reader does not before the commit', async () => {
    const name = ids.newSortable();
    await opened().database.transaction(async (tx) => {
      await write(tx, name);
      const own = await tx.selectFrom('service_metadata').select('name').where('name', '=', name).execute();
      assert.equal(own.length, 1);
      assert.equal(await isThere(name), false);
    });
    assert.equal(await isThere(name), true);
  });

  test('a failing transaction leaves nothing behind and tells why', async () => {
    const name = ids.newSortable();
    await assert.rejects(storeAndFail(name), { message: `${name} fails` });
    assert.equal(await isThere(name), false);
  });

  test('an acknowledged write survives the rollbacks before, between and after it', async () => {
    const names = Array.from({ length: 30 }, () => ids.newSortable());
    const outcomes = await Promise.allSettled(
      names.map((name, index) => (index % 3 === 1 ? store(name) : storeAndFail(name))),
    );
    for (const [index, name] of names.entries()) {
      const isKept = index % 3 === 1;
      assert.equal(outcomes[index]?.status, isKept ? 'fulfilled' : 'rejected');
      assert.equal(await isThere(name), isKept);
    }
  });

  test('a statement that fails fails its own transaction alone', async () => {
    const taken = ids.newSortable();
    await store(taken);
    const [before, after] = [ids.newSortable(), ids.newSortable()];
    const [first, second, third] = await Promise.allSettled([store(before), store(taken), store(after)]);
    assert.deepEqual([first?.status, second?.status, third?.status], ['fulfilled', 'rejected', 'fulfilled']);
    assert.deepEqual([await isThere(before), await isThere(after)], [true, true]);
  });

  test('a value that is taken becomes a UniqueViolation, in the row before and in the same transaction', async () => {
    const name = ids.newSortable();
    await store(name);
    await assert.rejects(store(name), UniqueViolation);
    await assert.rejects(
      opened().database.transaction(async (tx) => {
        const twice = ids.newSortable();
        await write(tx, twice);
        await write(tx, twice);
      }),
      UniqueViolation,
    );
  });

  test('a transaction that goes on after a UniqueViolation stands as a whole or not at all, and the next one works', async () => {
    const [taken, fresh, next] = [ids.newSortable(), ids.newSortable(), ids.newSortable()];
    await store(taken);
    const isAcknowledged = await opened()
      .database.transaction(async (tx) => {
        await write(tx, fresh);
        await assert.rejects(write(tx, taken), UniqueViolation);
      })
      .then(
        () => true,
        () => false,
      );
    assert.equal(await isThere(fresh), isAcknowledged);
    await store(next);
    assert.equal(await isThere(next), true);
  });

  test('two hundred concurrent read-and-write transactions lose no update', async () => {
    const name = ids.newSortable();
    await opened().database.transaction((tx) =>
      tx.insertInto('service_metadata').values({ name, value: '0' }).execute(),
    );
    const increment = () =>
      opened().database.transaction(async (tx) => {
        const row = await tx
          .selectFrom('service_metadata')
          .select('value')
          .where('name', '=', name)
          .executeTakeFirstOrThrow();
        await tx
          .updateTable('service_metadata')
          .set({ value: String(Number(row.value) + 1) })
          .where('name', '=', name)
          .execute();
      });
    await Promise.all(Array.from({ length: 200 }, increment));
    const row = await opened()
      .database.reader.selectFrom('service_metadata')
      .select('value')
      .where('name', '=', name)
      .executeTakeFirst();
    assert.equal(row?.value, '200');
  });

  test('a reference to a row that is not there is refused', async () => {
    const rotation = { agent_id: ids.newId('agent'), rotated_at: 1 };
    await assert.rejects(
      opened().database.transaction((tx) => tx.insertInto('secret_rotations').values(rotation).execute()),
    );
  });

  test('a ping resolves while the database is open', async () => {
    await opened().database.ping();
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onEachDatabase } from './databases.ts';
import { storeDelivery, storeWebhook } from './rows.ts';

const STATUSES = ['pending', 'retrying', 'delivered', 'failed', 'dead'] as const;
const FINAL = ['delivered', 'failed', 'dead'] as const;

onEachDatabase((opened) => {
  async function stored(status: (typeof STATUSES)[number]) {
    const { database } = opened();
    const { id } = await storeDelivery(database, (await storeWebhook(database)).id, { status });
    return {
      update: (changes: { status?: (typeof STATUSES)[number]; attempts?: number }) =>
        database.transaction((tx) =>
          tx.updateTable('deliveries').set(changes).where('id', '=', id).execute(),
        ),
      read: () =>
        database.reader
          .selectFrom('deliveries')
          .select(['status', 'attempts'])
          .where('id', '=', id)
          .executeTakeFirst(),
    };
  }

  for (const from of FINAL) {
    for (const to of STATUSES.filter((status) => status !== from)) {
      test(`the database refuses to make ${from} into ${to}`, async () => {
        const { update, read } = await stored(from);
        await assert.rejects(update({ status: to, attempts: 9 }), /final/);
        assert.deepEqual({ ...(await read()) }, { status: from, attempts: 0 });
      });
    }

    test(`the database lets ${from} be written over itself, and the rest of the row change`, async () => {
      const { update, read } = await stored(from);
      await update({ status: from, attempts: 9 });
      assert.deepEqual({ ...(await read()) }, { status: from, attempts: 9 });
    });
  }

  for (const from of ['pending', 'retrying'] as const) {
    test(`the database lets ${from} become anything`, async () => {
      for (const to of STATUSES) {
        const { update, read } = await stored(from);
        await update({ status: to });
        assert.equal((await read())?.status, to);
      }
    });
  }
});

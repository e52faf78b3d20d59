import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { listAttempts } from '../../src/webhooks/deliveries.store.ts';
import { deleteOldDeliveries, deleteOldEvents } from '../../src/webhooks/upkeep.store.ts';
import { storeAttempt } from './claims.ts';
import { onEachDatabase } from './databases.ts';
import { NOW, storeDelivery, storeWebhook } from './rows.ts';

const BEFORE = NOW - 1000;

onEachDatabase((opened) => {
  beforeEach(async () => {
    await opened().database.transaction(async (tx) => {
      for (const table of ['deliveries', 'delivery_attempts', 'events'] as const) {
        await tx.deleteFrom(table).execute();
      }
    });
  });

  /** A delivery of each age, with one attempt. */
  async function store(...ages: readonly number[]) {
    const { database } = opened();
    const { id: webhookId } = await storeWebhook(database);
    const stored = [];
    for (const age of ages) {
      const delivery = await storeDelivery(database, webhookId, { createdAt: BEFORE - age, status: 'dead' });
      const attempt = {
        attempt: 1,
        startedAt: NOW,
        durationMs: 1,
        statusCode: 500,
        error: null,
        responseStart: '',
      };
      await storeAttempt(opened(), { ...attempt, deliveryId: delivery.id });
      stored.push(delivery);
    }
    return stored;
  }
  const left = async (table: 'deliveries' | 'events') => {
    const rows = await opened().database.reader.selectFrom(table).select('id').orderBy('id').execute();
    return rows.map(({ id }) => id);
  };
  const prune = (remove: typeof deleteOldDeliveries, limit: number) =>
    opened().database.transaction((tx) => remove(tx, BEFORE, limit));

  test('old deliveries go with their attempts, younger ones stay with theirs', async () => {
    const [old, atTheEnd, young] = await store(500, 0, -1);
    assert.ok(old !== undefined && atTheEnd !== undefined && young !== undefined);
    assert.equal(await prune(deleteOldDeliveries, 10), 2);
    assert.deepEqual(await left('deliveries'), [young.id]);
    const { reader } = opened().database;
    for (const { id } of [old, atTheEnd]) assert.deepEqual(await listAttempts(reader, id), []);
    assert.equal((await listAttempts(reader, young.id)).length, 1);
  });

  test('old events go, younger ones stay', async () => {
    const [, , young] = await store(500, 0, -1);
    assert.equal(await prune(deleteOldEvents, 10), 2);
    assert.deepEqual(await left('events'), [young?.eventId]);
  });

  for (const remove of [deleteOldDeliveries, deleteOldEvents]) {
    test(`${remove.name} takes the oldest first, keeps to its limit and says how many went`, async () => {
      const stored = await store(5, 4, 3, 2, 1);
      assert.equal(await prune(remove, 2), 2);
      const table = remove === deleteOldEvents ? 'events' : 'deliveries';
      const ids = stored.map(({ id, eventId }) => (remove === deleteOldEvents ? eventId : id));
      assert.deepEqual(await left(table), ids.slice(2));
      assert.deepEqual([await prune(remove, 2), await prune(remove, 2), await prune(remove, 2)], [2, 1, 0]);
    });
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type DeliveryFilter,
  findDelivery,
  listAttempts,
  listDeliveries,
} from '../../src/webhooks/deliveries.store.ts';
import { storeAttempt } from './claims.ts';
import { onEachDatabase } from './databases.ts';
import { ids, NOW, storeDelivery, storeWebhook } from './rows.ts';

onEachDatabase((opened) => {
  async function scene() {
    const { database } = opened();
    const { id: webhookId } = await storeWebhook(database);
    return { database, webhookId };
  }

  test('a delivery is read as it was inserted, with its own webhook alone', async () => {
    const { database, webhookId } = await scene();
    const other = await storeWebhook(database);
    const delivery = await storeDelivery(database, webhookId);
    assert.deepEqual(await findDelivery(database.reader, { webhookId, id: delivery.id }), delivery);
    assert.equal(await findDelivery(database.reader, { webhookId: other.id, id: delivery.id }), null);
    assert.equal(await findDelivery(database.reader, { webhookId, id: ids.newId('delivery') }), null);
  });

  for (const status of ['delivered', 'failed', 'dead'] as const) {
    test(`a delivery that is ${status} is due at no time`, async () => {
      const { database, webhookId } = await scene();
      const { id } = await storeDelivery(database, webhookId, { status });
      const found = await findDelivery(database.reader, { webhookId, id });
      assert.deepEqual([found?.status, found?.nextAttemptAt], [status, null]);
    });
  }

  test('deliveries are listed newest first for their webhook, by status and by type', async () => {
    const { database, webhookId } = await scene();
    const other = await storeWebhook(database);
    const ended = { status: 'dead', nextAttemptAt: null } as const;
    const stored = [
      await storeDelivery(database, webhookId),
      await storeDelivery(database, webhookId, ended),
      await storeDelivery(database, webhookId, { ...ended, eventType: 'agent.deleted' }),
    ];
    await storeDelivery(database, other.id, { ...ended, eventType: 'agent.deleted' });
    const list = (filter: Omit<DeliveryFilter, 'webhookId'>, limit = 10, cursor: string | null = null) =>
      listDeliveries(database.reader, { webhookId, ...filter }, { limit, cursor });
    const listed = async (...query: Parameters<typeof list>) =>
      (await list(...query)).map((found) => stored.findIndex(({ id }) => id === found.id));

    assert.deepEqual(await list({}), stored.toReversed());
    assert.deepEqual(await listed({}, 1), [2, 1]);
    assert.deepEqual(await listed({}, 1, stored[2]?.id), [1, 0]);
    assert.deepEqual(await listed({ status: 'dead' }), [2, 1]);
    assert.deepEqual(await listed({ eventType: 'agent.created' }), [1, 0]);
    assert.deepEqual(await listed({ status: 'dead', eventType: 'agent.created' }), [1]);
  });

  test('attempts are listed in order, for their delivery alone, and each is written once', async () => {
    const { database, webhookId } = await scene();
    const { id: deliveryId } = await storeDelivery(database, webhookId);
    const { id: otherId } = await storeDelivery(database, webhookId);
    const failed = {
      deliveryId,
      attempt: 2,
      startedAt: NOW,
      durationMs: 12,
      statusCode: null,
      error: 'connection refused',
      responseStart: null,
    };
    const answered = { ...failed, attempt: 1, statusCode: 200, error: null, responseStart: 'a “ü” 🤖' };
    for (const attempt of [failed, answered, { ...answered, deliveryId: otherId }]) {
      await storeAttempt(opened(), attempt);
    }
    await storeAttempt(opened(), { ...answered, durationMs: 99 });
    assert.deepEqual(await listAttempts(database.reader, deliveryId), [answered, failed]);
    assert.equal((await listAttempts(database.reader, otherId)).length, 1);
  });
});

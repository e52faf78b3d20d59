import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DeliveryFilter, listDeliveries } from '../../src/webhooks/deliveries.store.ts';
import type { Webhook } from '../../src/webhooks/webhook.ts';
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  loadSubscriptions,
  updateWebhook,
} from '../../src/webhooks/webhooks.store.ts';
import { onEachDatabase } from './databases.ts';
import { aWebhook, ids, NOW } from './rows.ts';

onEachDatabase((opened) => {
  async function storeWebhook(changes: Partial<Webhook> = {}) {
    const webhook = aWebhook(changes);
    await opened().database.transaction((tx) => insertWebhook(tx, webhook));
    return webhook;
  }

  test('a webhook is read as it was inserted; an unknown one is null', async () => {
    const { reader } = opened().database;
    const webhook = await storeWebhook({ isActive: false, consecutiveFails: 3, events: ['*'] });
    assert.deepEqual(await findWebhook(reader, webhook.id), webhook);
    assert.equal(await findWebhook(reader, ids.newId('webhook')), null);
  });

  test('webhooks are listed newest first, one more than the page holds, from the cursor on', async () => {
    const { reader } = opened().database;
    const stored = [await storeWebhook(), await storeWebhook(), await storeWebhook()].reverse();
    assert.deepEqual(await listWebhooks(reader, { limit: 1, cursor: null }), stored.slice(0, 2));
    const cursor = stored[0]?.id as string;
    assert.deepEqual(await listWebhooks(reader, { limit: 1, cursor }), stored.slice(1));
  });

  test('a webhook’s update leaves its secret and its failures alone, and other webhooks', async () => {
    const { database } = opened();
    const [webhook, other] = [await storeWebhook({ consecutiveFails: 2 }), await storeWebhook()];
    const changed = { ...webhook, name: 'n', url: 'http://x.test', events: ['*'], isActive: false };
    await database.transaction((tx) =>
      updateWebhook(tx, { ...changed, maxRetries: 1, sealedSecret: 'other', consecutiveFails: 0 }),
    );
    assert.deepEqual(await findWebhook(database.reader, webhook.id), { ...changed, maxRetries: 1 });
    assert.deepEqual(await findWebhook(database.reader, other.id), other);
  });

  test('a deleted webhook is gone, and no other', async () => {
    const { database } = opened();
    const [webhook, other] = [await storeWebhook(), await storeWebhook()];
    await database.transaction((tx) => deleteWebhook(tx, webhook.id));
    assert.equal(await findWebhook(database.reader, webhook.id), null);
    assert.deepEqual(await findWebhook(database.reader, other.id), other);
  });

  test('the subscriptions are those of active webhooks, each to the types that it names or to all', async () => {
    const some = await storeWebhook({ events: ['agent.created', 'agent.deleted'] });
    const all = await storeWebhook({ events: ['*'] });
    const inactive = await storeWebhook({ isActive: false });
    const subscriptions = await loadSubscriptions(opened().database.reader);
    const wants = ({ id }: Webhook) => {
      const subscription = subscriptions.find((candidate) => candidate.webhookId === id);
      return ['agent.created', 'token.issued'].map((type) =>
        subscription?.subscribesTo(type as 'agent.created' | 'token.issued'),
      );
    };
    assert.deepEqual(wants(some), [true, false]);
    assert.deepEqual(wants(all), [true, true]);
    assert.deepEqual(wants(inactive), [undefined, undefined]);
  });

  test('deliveries are listed newest first for their webhook, by status and by type', async () => {
    const { database } = opened();
    const { id: webhookId } = await storeWebhook();
    const { id: otherId } = await storeWebhook();
    const delivery = (webhook_id: string, status: 'pending' | 'dead', event_type: string) => ({
      id: ids.newId('delivery'),
      webhook_id,
      event_id: ids.newId('evt'),
      event_type,
      status,
      attempts: 1,
      last_attempt_at: NOW,
      created_at: NOW,
    });
    const rows = [
      delivery(webhookId, 'pending', 'agent.created'),
      delivery(webhookId, 'dead', 'agent.created'),
      delivery(webhookId, 'dead', 'agent.deleted'),
      delivery(otherId, 'dead', 'agent.deleted'),
    ];
    await database.transaction(async (tx) => {
      await tx.insertInto('deliveries').values(rows).execute();
    });
    const listed = async (
      filter: Omit<DeliveryFilter, 'webhookId'>,
      limit = 10,
      cursor: string | null = null,
    ) =>
      (await listDeliveries(database.reader, { webhookId, ...filter }, { limit, cursor })).map((found) =>
        rows.findIndex((row) => row.id === found.id),
      );
    assert.deepEqual(await listed({}), [2, 1, 0]);
    assert.deepEqual(await listed({}, 1), [2, 1]);
    assert.deepEqual(await listed({}, 1, rows[2]?.id), [1, 0]);
    assert.deepEqual(await listed({ status: 'dead' }), [2, 1]);
    assert.deepEqual(await listed({ eventType: 'agent.created' }), [1, 0]);
    assert.deepEqual(await listed({ status: 'dead', eventType: 'agent.created' }), [1]);
    const [newest] = await listDeliveries(database.reader, { webhookId }, { limit: 1, cursor: null });
    assert.deepEqual(newest, {
      id: rows[2]?.id,
      eventId: rows[2]?.event_id,
      eventType: 'agent.deleted',
      status: 'dead',
      attempts: 1,
      lastAttemptAt: NOW,
      createdAt: NOW,
    });
  });
});

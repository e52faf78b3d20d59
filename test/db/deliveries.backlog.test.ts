import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Delivery, findDelivery } from '../../src/webhooks/deliveries.store.ts';
import { countBacklogs, failWaiting } from '../../src/webhooks/upkeep.store.ts';
import type { Webhook } from '../../src/webhooks/webhook.ts';
import { markDeleted } from '../../src/webhooks/webhooks.store.ts';
import { onEachDatabase } from './databases.ts';
import { NOW, storeDelivery, storeWebhook } from './rows.ts';

const ENDED = ['delivered', 'failed', 'dead'] as const;

onEachDatabase((opened) => {
  /** A webhook with these deliveries, and three that have ended. */
  async function scene(waiting: readonly Partial<Delivery>[], changes: Partial<Webhook> = {}) {
    const { database } = opened();
    const webhook = await storeWebhook(database, changes);
    const ended = ENDED.map((status) => ({ status, nextAttemptAt: null, createdAt: NOW - 900 }));
    const stored: Delivery[] = [];
    for (const delivery of [...waiting, ...ended]) {
      stored.push(await storeDelivery(database, webhook.id, delivery));
    }
    return { webhook, webhookId: webhook.id, stored };
  }
  const statuses = async (stored: readonly Delivery[]) => {
    const found = await Promise.all(stored.map((each) => findDelivery(opened().database.reader, each)));
    return found.map((delivery) => [delivery?.status, delivery?.failureReason]);
  };

  test('the webhooks that have something to send are the active ones, each with its earliest due time', async () => {
    const { database, queue } = opened();
    const late = await scene([{ nextAttemptAt: NOW + 9 }, { nextAttemptAt: NOW + 5, status: 'retrying' }]);
    const due = await scene([{ nextAttemptAt: NOW - 1 }]);
    const idle = await scene([]);
    const inactive = await scene([{}], { isActive: false });
    const deleted = await scene([{}]);
    await database.transaction((tx) => markDeleted(tx, deleted.webhookId, NOW));
    const found = await database.transaction((tx) => queue.listDue(tx));
    const of = (id: string) => found.find(({ webhook }) => webhook.id === id);
    assert.deepEqual(of(late.webhookId), { webhook: late.webhook, dueAt: NOW + 5 });
    assert.deepEqual(of(due.webhookId), { webhook: due.webhook, dueAt: NOW - 1 });
    for (const { webhookId } of [idle, inactive, deleted]) assert.equal(of(webhookId), undefined);
  });

  test('a backlog is what waits for a webhook, active or not, with the time at which the oldest is due', async () => {
    const { database } = opened();
    const active = await scene([{ nextAttemptAt: NOW + 9 }, { nextAttemptAt: NOW + 5, status: 'retrying' }]);
    const held = await scene([{}], { isActive: false });
    const idle = await scene([]);
    const backlogs = await countBacklogs(database.reader);
    const of = (id: string) => backlogs.find(({ webhookId }) => webhookId === id);
    assert.deepEqual(of(active.webhookId), {
      webhookId: active.webhookId,
      waiting: 2,
      oldestDueAt: NOW + 5,
    });
    assert.deepEqual(of(held.webhookId), { webhookId: held.webhookId, waiting: 1, oldestDueAt: NOW });
    assert.equal(of(idle.webhookId), undefined);
  });

  test('ending what waits ends nothing else: not what has ended, and nothing of another webhook', async () => {
    const { database } = opened();
    const { webhookId, stored } = await scene([{}, { status: 'retrying', attempts: 2 }]);
    const other = await scene([{}]);
    const count = await database.transaction((tx) =>
      failWaiting(tx, { webhookId, reason: 'webhook_disabled', limit: 100 }),
    );
    assert.equal(count, 2);
    const ended = ENDED.map((status) => [status, null]);
    const failed = ['failed', 'webhook_disabled'];
    assert.deepEqual(await statuses(stored), [failed, failed, ...ended]);
    assert.deepEqual(await statuses(other.stored), [['pending', null], ...ended]);
  });

  test('ending what waits keeps to its limit and says how many it ended', async () => {
    const { database } = opened();
    const { webhookId } = await scene([{}, {}, {}]);
    const step = () =>
      database.transaction((tx) => failWaiting(tx, { webhookId, reason: 'webhook_deleted', limit: 2 }));
    assert.deepEqual([await step(), await step(), await step()], [2, 1, 0]);
  });
});

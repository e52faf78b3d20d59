import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Outbox } from '../../src/events/outbox.ts';
import { Backlogs, LARGEST_BACKLOG } from '../../src/webhooks/backlog.ts';
import { listDeliveries } from '../../src/webhooks/deliveries.store.ts';
import { subscriptions } from '../../src/webhooks/webhooks.store.ts';
import { TestClock } from '../clock.ts';
import { onEachDatabase } from '../db/databases.ts';
import { ids, NOW, storeWebhook } from '../db/rows.ts';

test('a backlog is full from its limit on, and only as long as a count says so', () => {
  const backlogs = new Backlogs();
  const count = (waiting: number) => backlogs.update([{ webhookId: 'one', waiting, oldestDueAt: NOW }]);
  assert.equal(backlogs.isFull('one'), false);
  count(LARGEST_BACKLOG - 1);
  assert.equal(backlogs.isFull('one'), false);
  count(LARGEST_BACKLOG);
  assert.deepEqual([backlogs.isFull('one'), backlogs.isFull('another')], [true, false]);
  count(LARGEST_BACKLOG - 1);
  assert.equal(backlogs.isFull('one'), false);
});

test('what waits is summed, and the oldest due time is that of the webhook which waits the longest', () => {
  const backlogs = new Backlogs();
  assert.deepEqual([backlogs.waiting, backlogs.oldestDueSeconds(NOW)], [0, 0]);
  backlogs.update([
    { webhookId: 'one', waiting: 3, oldestDueAt: NOW - 1500 },
    { webhookId: 'other', waiting: 4, oldestDueAt: NOW + 9000 },
  ]);
  assert.deepEqual([backlogs.waiting, backlogs.oldestDueSeconds(NOW)], [7, 1.5]);
  assert.equal(backlogs.oldestDueSeconds(NOW - 2000), 0);
});

onEachDatabase((opened) => {
  test('a delivery to a webhook with a full backlog fails at once as backlog_full, and others are written', async () => {
    const { database, queue: store } = opened();
    const [full, free] = [await storeWebhook(database), await storeWebhook(database)];
    const hasFullBacklog = (webhookId: string) => webhookId === full.id;
    const outbox = new Outbox({
      clock: new TestClock(),
      ids,
      store,
      subscriptions,
      database,
      isShared: false,
      hasFullBacklog,
    });
    await outbox.reload(database.reader);
    const data = { agent_id: 'a', agent_name: 'n', client_id: 'c', organization_id: null };
    await database.transaction((tx) => outbox.publish(tx, 'agent.created', data));
    const page = { limit: 10, cursor: null };
    const states = await Promise.all(
      [full, free].map(async ({ id }) =>
        (await listDeliveries(database.reader, { webhookId: id }, page)).map((delivery) => [
          delivery.status,
          delivery.failureReason,
          delivery.attempts,
        ]),
      ),
    );
    assert.deepEqual(states, [[['failed', 'backlog_full', 0]], [['pending', null, 0]]]);
  });
});

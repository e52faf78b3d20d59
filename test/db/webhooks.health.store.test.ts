import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Queries } from '../../src/db/database.ts';
import type { Webhook } from '../../src/webhooks/webhook.ts';
import {
  countFailures,
  deactivateWebhook,
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listDeleted,
  listDisabledSince,
  listWebhooks,
  markDeleted,
  subscriptions,
  updateWebhook,
} from '../../src/webhooks/webhooks.store.ts';
import { onEachDatabase } from './databases.ts';
import { aWebhook, NOW, storeWebhook } from './rows.ts';

const MINUTE = 60_000;

onEachDatabase((opened) => {
  const store = (changes: Partial<Webhook> = {}) => storeWebhook(opened().database, changes);
  const read = ({ id }: Webhook) => findWebhook(opened().database.reader, id);
  const note = ({ id }: Webhook, now = NOW) =>
    opened().database.transaction((tx) =>
      opened().queue.noteSuccesses(tx, { webhookIds: [id], now, notSince: now - MINUTE }),
    );

  for (const [what, unhealthy] of [
    ['dead deliveries', { consecutiveFails: 3 }],
    ['failed attempts', { failingAttempts: 7 }],
    ['both', { consecutiveFails: 1, failingAttempts: 1 }],
  ] as const) {
    test(`a success ends a row of ${what} at once, however short ago the last success was`, async () => {
      const webhook = await store({ ...unhealthy, lastSuccessAt: NOW - 1 });
      await note(webhook);
      const healthy = { consecutiveFails: 0, failingAttempts: 0, lastSuccessAt: NOW };
      assert.deepEqual(await read(webhook), { ...webhook, ...healthy });
    });
  }

  test('the first success is noted; of those that follow, the first after the step', async () => {
    const webhook = await store();
    const noted = async (now: number) => {
      await note(webhook, now);
      return (await read(webhook))?.lastSuccessAt;
    };
    assert.equal(await noted(NOW), NOW);
    assert.equal(await noted(NOW + MINUTE - 1), NOW);
    assert.equal(await noted(NOW + MINUTE), NOW + MINUTE);
  });

  test('a success says nothing of other webhooks', async () => {
    const [webhook, other] = [await store(), await store({ consecutiveFails: 4, failingAttempts: 40 })];
    await note(webhook);
    assert.deepEqual(await read(other), other);
  });

  test('failures are counted on, and not for a webhook that is deleted', async () => {
    const { database } = opened();
    const webhook = await store({ failingAttempts: 2, consecutiveFails: 1 });
    const count = { id: webhook.id, attempts: 3, deaths: 2 };
    const counted = { ...webhook, failingAttempts: 5, consecutiveFails: 3 };
    assert.deepEqual(await database.transaction((tx) => countFailures(tx, count)), counted);
    assert.deepEqual(await read(webhook), counted);
    await database.transaction((tx) => markDeleted(tx, webhook.id, NOW));
    assert.equal(await database.transaction((tx) => countFailures(tx, count)), null);
    await database.transaction((tx) => deleteWebhook(tx, webhook.id));
  });

  test('every change of who subscribes counts the version up, and only that', async () => {
    const { database, queue } = opened();
    const version = () => subscriptions.loadSubscriptionsVersion(database.reader);
    const webhook = await store();
    let before = await version();
    for (const change of [
      (tx: Queries) => insertWebhook(tx, aWebhook()),
      (tx: Queries) => updateWebhook(tx, { ...webhook, events: ['*'] }),
      (tx: Queries) => deactivateWebhook(tx, webhook.id, NOW + 9),
      (tx: Queries) => markDeleted(tx, webhook.id, NOW),
    ]) {
      await database.transaction<unknown>(change);
      const after = await version();
      assert.ok(after > before);
      before = after;
    }
    await database.transaction(async (tx) => {
      await countFailures(tx, { id: webhook.id, attempts: 1, deaths: 1 });
      await queue.noteSuccesses(tx, { webhookIds: [webhook.id], now: NOW, notSince: NOW });
      await deleteWebhook(tx, webhook.id);
    });
    assert.equal(await version(), before);
  });

  test('a webhook is deactivated once', async () => {
    const { database } = opened();
    const webhook = await store();
    const deactivate = () => database.transaction((tx) => deactivateWebhook(tx, webhook.id, NOW + 9));
    assert.deepEqual([await deactivate(), await deactivate()], [true, false]);
    assert.deepEqual(await read(webhook), { ...webhook, isActive: false, deactivatedAt: NOW + 9 });
  });

  test('a webhook that is marked as deleted is found by nobody but whoever clears up', async () => {
    const { database } = opened();
    const { reader } = database;
    const [webhook, other] = [await store(), await store()];
    await database.transaction((tx) => markDeleted(tx, webhook.id, NOW));
    assert.equal(await read(webhook), null);
    const listed = (await listWebhooks(reader, { limit: 1000, cursor: null })).map(({ id }) => id);
    const subscribed = (await subscriptions.loadSubscriptions(reader)).map(({ webhookId }) => webhookId);
    for (const found of [listed, subscribed]) {
      assert.ok(found.includes(other.id) && !found.includes(webhook.id));
    }
    assert.deepEqual(await listDeleted(reader), [webhook.id]);
  });

  test('webhooks that are inactive since a time are those that were deactivated by then', async () => {
    const { database } = opened();
    const inactive = (deactivatedAt: number) => store({ isActive: false, deactivatedAt });
    const [before, at, deleted] = [await inactive(NOW - 1), await inactive(NOW), await inactive(NOW)];
    await inactive(NOW + 1);
    await store();
    await database.transaction((tx) => markDeleted(tx, deleted.id, NOW));
    const found = await listDisabledSince(database.reader, NOW);
    assert.deepEqual(found.toSorted(), [before.id, at.id].toSorted());
  });
});

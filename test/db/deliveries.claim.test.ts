import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markDeleted } from '../../src/webhooks/webhooks.store.ts';
import { claimScene, LEASE_UNTIL } from './claims.ts';
import { onEachDatabase } from './databases.ts';
import { NOW, payloadOf, storeDelivery, storeWebhook } from './rows.ts';

const idsOf = (deliveries: ReadonlyArray<{ id: string }>) => deliveries.map(({ id }) => id).toSorted();

onEachDatabase((opened) => {
  const scene = (changes = {}) => claimScene(opened(), changes);

  test('a claim takes what is due and waits, and nothing of another webhook', async () => {
    const { database } = opened();
    const { store, claim } = await scene();
    const other = await storeWebhook(database);
    await storeDelivery(database, other.id);
    await store({ nextAttemptAt: NOW + 1 });
    for (const status of ['delivered', 'failed', 'dead'] as const) await store({ status });
    const due = [
      await store(),
      await store({ nextAttemptAt: NOW - 1 }),
      await store({ status: 'retrying', attempts: 2 }),
    ];
    assert.deepEqual(idsOf(await claim()), idsOf(due));
  });

  test('a claim counts the attempt, notes its time, puts off the due time and brings the event', async () => {
    const { store, claimOne, read } = await scene();
    const delivery = await store({ status: 'retrying', attempts: 1, lastAttemptAt: NOW - 5000 });
    const claimed = { ...delivery, attempts: 2, lastAttemptAt: NOW, nextAttemptAt: LEASE_UNTIL };
    const { id, webhookId, eventId, eventType, attempts, maxAttempts } = claimed;
    const expected = { id, webhookId, eventId, eventType, attempts, maxAttempts };
    assert.deepEqual({ ...(await claimOne()) }, { ...expected, payload: payloadOf(delivery) });
    assert.deepEqual(await read(delivery), claimed);
  });

  test('a claim takes no more than its limit, what is due the longest first', async () => {
    const { store, claim } = await scene();
    const late = await store({ nextAttemptAt: NOW - 1 });
    const latest = await store({ nextAttemptAt: NOW - 3 });
    const later = await store({ nextAttemptAt: NOW - 2 });
    assert.deepEqual(idsOf(await claim({ limit: 2 })), idsOf([latest, later]));
    assert.deepEqual(idsOf(await claim({ limit: 2 })), idsOf([late]));
  });

  test('what is claimed is not claimed again before its lease has run out', async () => {
    const { store, claim } = await scene();
    const delivery = await store();
    assert.equal((await claim()).length, 1);
    assert.deepEqual(await claim(), []);
    assert.deepEqual(await claim({ now: LEASE_UNTIL - 1 }), []);
    const again = await claim({ now: LEASE_UNTIL, leaseUntil: LEASE_UNTIL + 1 });
    assert.deepEqual(
      again.map(({ id, attempts }) => [id, attempts]),
      [[delivery.id, 2]],
    );
  });

  test('claims that run at once share what is due and never take the same', async () => {
    const { store, claim } = await scene();
    const stored = [await store(), await store(), await store(), await store(), await store()];
    const claims = await Promise.all([1, 2, 3].map(() => claim({ limit: 2 })));
    assert.deepEqual(idsOf(claims.flat()), idsOf(stored));
  });

  test('an inactive or deleted webhook’s deliveries are claimed by nobody', async () => {
    const inactive = await scene({ isActive: false });
    const deleted = await scene();
    for (const { store } of [inactive, deleted]) await store();
    await opened().database.transaction((tx) => markDeleted(tx, deleted.webhookId, NOW));
    for (const { claim } of [inactive, deleted]) assert.deepEqual(await claim(), []);
  });
});

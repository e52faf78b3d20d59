import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Webhook } from '../../src/webhooks/webhook.ts';
import {
  deleteWebhook,
  findWebhook,
  listWebhooks,
  subscriptions,
  updateWebhook,
} from '../../src/webhooks/webhooks.store.ts';
import { onEachDatabase } from './databases.ts';
import { ids, NOW, storeWebhook } from './rows.ts';

onEachDatabase((opened) => {
  const store = (changes: Partial<Webhook> = {}) => storeWebhook(opened().database, changes);

  test('a webhook is read as it was inserted; an unknown one is null', async () => {
    const { reader } = opened().database;
    const webhook = await store({ isActive: false, consecutiveFails: 3, events: ['*'] });
    assert.deepEqual(await findWebhook(reader, webhook.id), webhook);
    assert.equal(await findWebhook(reader, ids.newId('webhook')), null);
  });

  test('webhooks are listed newest first, one more than the page holds, from the cursor on', async () => {
    const { reader } = opened().database;
    const stored = [await store(), await store(), await store()].reverse();
    assert.deepEqual(await listWebhooks(reader, { limit: 1, cursor: null }), stored.slice(0, 2));
    const cursor = stored[0]?.id as string;
    assert.deepEqual(await listWebhooks(reader, { limit: 1, cursor }), stored.slice(1));
  });

  test('a webhook’s update writes all but its id and its creation, and leaves other webhooks alone', async () => {
    const { database } = opened();
    const [webhook, other] = [await store({ consecutiveFails: 2 }), await store()];
    const changed: Webhook = {
      ...webhook,
      name: 'n',
      url: 'http://x.test',
      events: ['*'],
      isActive: false,
      maxRetries: 1,
      consecutiveFails: 0,
      failingAttempts: 4,
      sealedSecret: 'other',
      previousSecret: { sealed: webhook.sealedSecret, expiresAt: NOW + 5 },
      lastSuccessAt: NOW + 1,
      deactivatedAt: NOW + 2,
    };
    await database.transaction((tx) => updateWebhook(tx, { ...changed, createdAt: NOW + 9 }));
    assert.deepEqual(await findWebhook(database.reader, webhook.id), changed);
    assert.deepEqual(await findWebhook(database.reader, other.id), other);
  });

  test('a deleted webhook is gone, and no other', async () => {
    const { database } = opened();
    const [webhook, other] = [await store(), await store()];
    await database.transaction((tx) => deleteWebhook(tx, webhook.id));
    assert.equal(await findWebhook(database.reader, webhook.id), null);
    assert.deepEqual(await findWebhook(database.reader, other.id), other);
  });

  test('the subscriptions are those of active webhooks, each to the types that it names or to all', async () => {
    const some = await store({ events: ['agent.created', 'agent.deleted'] });
    const all = await store({ events: ['*'] });
    const inactive = await store({ isActive: false });
    const loaded = await subscriptions.loadSubscriptions(opened().database.reader);
    const wants = ({ id }: Webhook) => {
      const subscription = loaded.find((candidate) => candidate.webhookId === id);
      return ['agent.created', 'token.issued'].map((type) =>
        subscription?.subscribesTo(type as 'agent.created' | 'token.issued'),
      );
    };
    assert.deepEqual(wants(some), [true, false]);
    assert.deepEqual(wants(all), [true, true]);
    assert.deepEqual(wants(inactive), [undefined, undefined]);
  });
});

import type { Clock } from '../clock.ts';
import type { Database, Queries } from '../db/database.ts';
import { type MasterKey, seal } from '../encryption.ts';
import { notFound } from '../errors.ts';
import type { Outbox } from '../events/outbox.ts';
import type { Ids } from '../ids.ts';
import type { Webhook } from './webhook.ts';
import { deleteWebhook, findWebhook, insertWebhook, updateWebhook } from './webhooks.store.ts';

export interface WebhooksDeps {
  database: Database;
  clock: Clock;
  ids: Ids;
  outbox: Outbox;
  masterKey: MasterKey;
}

export type NewWebhook = Pick<Webhook, 'name' | 'url' | 'events' | 'maxRetries'>;
export type WebhookChanges = Partial<NewWebhook & Pick<Webhook, 'isActive'>>;

export async function createWebhook(
  deps: WebhooksDeps,
  input: NewWebhook,
): Promise<{ webhook: Webhook; secret: string }> {
  const { database, clock, ids, outbox, masterKey } = deps;
  const secret = ids.newWebhookSecret();
  const id = ids.newId('webhook');
  const webhook: Webhook = {
    id,
    ...input,
    isActive: true,
    consecutiveFails: 0,
    sealedSecret: seal(masterKey, secret, `webhooks/${id}`),
    createdAt: clock.now(),
  };
  await database.transaction(async (tx) => {
    // Published first: the new webhook hears of others, not of itself.
    await outbox.publish(tx, 'webhook.created', subjectOf(webhook));
    await insertWebhook(tx, webhook);
  });
  await outbox.reload(database.reader);
  return { webhook, secret };
}

export async function changeWebhook(
  deps: WebhooksDeps,
  id: string,
  changes: WebhookChanges,
): Promise<Webhook> {
  const { database, outbox } = deps;
  const webhook = await database.transaction(async (tx) => {
    const before = await requireWebhook(tx, id);
    const after = { ...before, ...changes };
    await updateWebhook(tx, after);
    const names = changedNames(before, after);
    if (names.length > 0) {
      await outbox.publish(tx, 'webhook.updated', { ...subjectOf(after), changes: names }, { except: id });
    }
    return after;
  });
  await outbox.reload(database.reader);
  return webhook;
}

export async function removeWebhook(deps: WebhooksDeps, id: string): Promise<void> {
  const { database, outbox } = deps;
  await database.transaction(async (tx) => {
    const webhook = await requireWebhook(tx, id);
    await deleteWebhook(tx, id);
    await outbox.publish(tx, 'webhook.deleted', subjectOf(webhook));
  });
  await outbox.reload(database.reader);
}

export async function requireWebhook(db: Queries, id: string): Promise<Webhook> {
  const webhook = await findWebhook(db, id);
  if (webhook === null) throw notFound('webhook');
  return webhook;
}

const subjectOf = (webhook: Webhook) => ({ webhook_id: webhook.id, webhook_name: webhook.name });

function changedNames(before: Webhook, after: Webhook): string[] {
  const names: ReadonlyArray<readonly [keyof Webhook, string]> = [
    ['name', 'name'],
    ['url', 'url'],
    ['events', 'events'],
    ['isActive', 'is_active'],
    ['maxRetries', 'max_retries'],
  ];
  return names.filter(([key]) => String(before[key]) !== String(after[key])).map(([, name]) => name);
}

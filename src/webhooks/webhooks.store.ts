import type { Selectable } from 'kysely';
import { type Queries, type Tables, toFlag } from '../db/database.ts';
import type { Subscription } from '../events/outbox.ts';
import type { Page } from '../schema.ts';
import { subscribesTo, type Webhook } from './webhook.ts';

export async function insertWebhook(tx: Queries, webhook: Webhook): Promise<void> {
  await tx.insertInto('webhooks').values(toRow(webhook)).execute();
}

export async function findWebhook(db: Queries, id: string): Promise<Webhook | null> {
  const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toWebhook(row);
}

/** At most `page.limit + 1` webhooks, newest first. */
export async function listWebhooks(db: Queries, page: Page): Promise<Webhook[]> {
  let query = db
    .selectFrom('webhooks')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (page.cursor !== null) query = query.where('id', '<', page.cursor);
  return (await query.execute()).map(toWebhook);
}

export async function updateWebhook(tx: Queries, webhook: Webhook): Promise<void> {
  const { name, url, events, is_active, max_retries } = toRow(webhook);
  await tx
    .updateTable('webhooks')
    .set({ name, url, events, is_active, max_retries })
    .where('id', '=', webhook.id)
    .execute();
}

export async function deleteWebhook(tx: Queries, id: string): Promise<void> {
  await tx.deleteFrom('webhooks').where('id', '=', id).execute();
}

/** What the outbox needs to know of the active webhooks. */
export async function loadSubscriptions(db: Queries): Promise<Subscription[]> {
  const rows = await db.selectFrom('webhooks').select(['id', 'events']).where('is_active', '=', 1).execute();
  return rows.map((row) => {
    const events = JSON.parse(row.events) as string[];
    return { webhookId: row.id, subscribesTo: (type) => subscribesTo(events, type) };
  });
}

function toWebhook(row: Selectable<Tables['webhooks']>): Webhook {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: JSON.parse(row.events) as string[],
    isActive: row.is_active === 1,
    maxRetries: row.max_retries,
    consecutiveFails: row.consecutive_fails,
    sealedSecret: row.secret,
    createdAt: row.created_at,
  };
}

function toRow(webhook: Webhook): Selectable<Tables['webhooks']> {
  return {
    id: webhook.id,
    name: webhook.name,
    url: webhook.url,
    events: JSON.stringify(webhook.events),
    is_active: toFlag(webhook.isActive),
    max_retries: webhook.maxRetries,
    consecutive_fails: webhook.consecutiveFails,
    secret: webhook.sealedSecret,
    created_at: webhook.createdAt,
  };
}

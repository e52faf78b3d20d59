import { type Insertable, type Selectable, sql } from 'kysely';
import { type Queries, type Tables, toFlag } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';
import type { Subscription, SubscriptionsStore } from '../events/outbox.ts';
import type { Page } from '../schema.ts';
import { subscribesTo, type Webhook } from './webhook.ts';

export async function insertWebhook(tx: Queries, webhook: Webhook): Promise<void> {
  await tx.insertInto('webhooks').values(toRow(webhook)).execute();
  await noteChange(tx);
}

export async function findWebhook(db: Queries, id: string): Promise<Webhook | null> {
  const row = (await selectWebhook(db, { id })).rows[0];
  return row === undefined ? null : toWebhook(row);
}

const selectWebhook = prepared<{ id: string }, Selectable<Tables['webhooks']>>((db, value) =>
  db.selectFrom('webhooks').selectAll().where('id', '=', value('id')).where('deleted_at', 'is', null),
);

/** At most `page.limit + 1` webhooks, newest first. */
export async function listWebhooks(db: Queries, page: Page): Promise<Webhook[]> {
  let query = db
    .selectFrom('webhooks')
    .selectAll()
    .where('deleted_at', 'is', null)
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (page.cursor !== null) query = query.where('id', '<', page.cursor);
  return (await query.execute()).map(toWebhook);
}

export async function updateWebhook(tx: Queries, webhook: Webhook): Promise<void> {
  const { id, created_at, ...changes } = toRow(webhook);
  await tx.updateTable('webhooks').set(changes).where('id', '=', id).execute();
  await noteChange(tx);
}

/** Counts attempts that failed and deliveries that died of it; null for a webhook that is no more. */
export async function countFailures(
  tx: Queries,
  { id, attempts, deaths }: { id: string; attempts: number; deaths: number },
): Promise<Webhook | null> {
  const row = await tx
    .updateTable('webhooks')
    .set((eb) => ({
      failing_attempts: eb('failing_attempts', '+', attempts),
      consecutive_fails: eb('consecutive_fails', '+', deaths),
    }))
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : toWebhook(row);
}

/** True where it was active until now. */
export async function deactivateWebhook(tx: Queries, id: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('webhooks')
    .set({ is_active: 0, deactivated_at: now })
    .where('id', '=', id)
    .where('is_active', '=', 1)
    .executeTakeFirst();
  await noteChange(tx);
  return numUpdatedRows === 1n;
}

/** It is gone for everybody at once; its row goes when nothing waits for it any more. */
export async function markDeleted(tx: Queries, id: string, now: number): Promise<void> {
  await tx.updateTable('webhooks').set({ is_active: 0, deleted_at: now }).where('id', '=', id).execute();
  await noteChange(tx);
}

export async function listDeleted(db: Queries): Promise<string[]> {
  const rows = await db.selectFrom('webhooks').select('id').where('deleted_at', 'is not', null).execute();
  return rows.map((row) => row.id);
}

export async function deleteWebhook(tx: Queries, id: string): Promise<void> {
  await tx.deleteFrom('webhooks').where('id', '=', id).execute();
}

export async function listDisabledSince(db: Queries, before: number): Promise<string[]> {
  const rows = await db
    .selectFrom('webhooks')
    .select('id')
    .where('is_active', '=', 0)
    .where('deactivated_at', '<=', before)
    .where('deleted_at', 'is', null)
    .execute();
  return rows.map((row) => row.id);
}

/** How the outbox learns which webhooks stand. */
export const subscriptions: SubscriptionsStore = { loadSubscriptions, loadSubscriptionsVersion };

const VERSION = 'subscriptions_version';

async function loadSubscriptionsVersion(db: Queries): Promise<number> {
  const { rows } = await selectVersion(db, {});
  return Number(rows[0]?.value ?? 0);
}

const selectVersion = prepared<object, { value: string }>((db) =>
  db.selectFrom('service_metadata').select('value').where('name', '=', VERSION),
);

/** By this other processes see that what they know of the webhooks is old. */
async function noteChange(tx: Queries): Promise<void> {
  await tx
    .insertInto('service_metadata')
    .values({ name: VERSION, value: '1' })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet({
        value: sql<string>`cast(cast(service_metadata.value as bigint) + 1 as text)`,
      }),
    )
    .execute();
}

async function loadSubscriptions(db: Queries): Promise<Subscription[]> {
  const { rows } = await selectSubscriptions(db, {});
  return rows.map((row) => {
    const events = JSON.parse(row.events) as string[];
    return {
      webhookId: row.id,
      maxAttempts: row.max_retries,
      subscribesTo: (type) => subscribesTo(events, type),
    };
  });
}

type SubscriptionRow = Pick<Tables['webhooks'], 'id' | 'events' | 'max_retries'>;

const selectSubscriptions = prepared<object, SubscriptionRow>((db) =>
  db.selectFrom('webhooks').select(['id', 'events', 'max_retries']).where('is_active', '=', 1),
);

export function toWebhook(row: Selectable<Tables['webhooks']>): Webhook {
  const { previous_secret: sealed, previous_secret_expires_at: expiresAt } = row;
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: JSON.parse(row.events) as string[],
    isActive: row.is_active === 1,
    maxRetries: row.max_retries,
    consecutiveFails: row.consecutive_fails,
    failingAttempts: row.failing_attempts,
    sealedSecret: row.secret,
    previousSecret: sealed === null || expiresAt === null ? null : { sealed, expiresAt },
    lastSuccessAt: row.last_success_at,
    deactivatedAt: row.deactivated_at,
    createdAt: row.created_at,
  };
}

function toRow(webhook: Webhook): Insertable<Tables['webhooks']> {
  return {
    id: webhook.id,
    name: webhook.name,
    url: webhook.url,
    events: JSON.stringify(webhook.events),
    is_active: toFlag(webhook.isActive),
    max_retries: webhook.maxRetries,
    consecutive_fails: webhook.consecutiveFails,
    failing_attempts: webhook.failingAttempts,
    secret: webhook.sealedSecret,
    previous_secret: webhook.previousSecret?.sealed ?? null,
    previous_secret_expires_at: webhook.previousSecret?.expiresAt ?? null,
    last_success_at: webhook.lastSuccessAt,
    deactivated_at: webhook.deactivatedAt,
    created_at: webhook.createdAt,
  };
}

import { type Selectable, sql } from 'kysely';
import type { Queries, Tables } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';
import type { Page } from '../schema.ts';
import type { DeliveryStatus, FailureReason, NextState } from './delivery.ts';
import type { Webhook } from './webhook.ts';
import { toWebhook } from './webhooks.store.ts';

/** One event on its way to one webhook. Times are milliseconds since the Unix epoch. */
export interface Delivery {
  id: string;
  webhookId: string;
  eventId: string;
  eventType: string;
  status: DeliveryStatus;
  attempts: number;
  maxAttempts: number;
  lastAttemptAt: number | null;
  /** null once it has ended. */
  nextAttemptAt: number | null;
  failureReason: string | null;
  createdAt: number;
}

/** One request that was made for a delivery. */
export interface DeliveryAttempt {
  deliveryId: string;
  attempt: number;
  startedAt: number;
  durationMs: number;
  statusCode: number | null;
  error: string | null;
  responseStart: string | null;
}

export interface DeliveryFilter {
  webhookId: string;
  status?: DeliveryStatus;
  eventType?: string;
}

/** In literals, not parameters: only so can a planner see that the partial index covers it. */
const isWaiting = sql<boolean>`deliveries.status in ('pending', 'retrying')`;

export async function insertDelivery(tx: Queries, delivery: Delivery): Promise<void> {
  await tx
    .insertInto('deliveries')
    .values({
      id: delivery.id,
      webhook_id: delivery.webhookId,
      event_id: delivery.eventId,
      event_type: delivery.eventType,
      status: delivery.status,
      attempts: delivery.attempts,
      max_attempts: delivery.maxAttempts,
      last_attempt_at: delivery.lastAttemptAt,
      next_attempt_at: delivery.nextAttemptAt ?? delivery.createdAt,
      failure_reason: delivery.failureReason,
      created_at: delivery.createdAt,
    })
    .execute();
}

/** At most `page.limit + 1` deliveries, newest first. */
export async function listDeliveries(db: Queries, filter: DeliveryFilter, page: Page): Promise<Delivery[]> {
  let query = db
    .selectFrom('deliveries')
    .selectAll()
    .where('webhook_id', '=', filter.webhookId)
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (page.cursor !== null) query = query.where('id', '<', page.cursor);
  if (filter.status !== undefined) query = query.where('status', '=', filter.status);
  if (filter.eventType !== undefined) query = query.where('event_type', '=', filter.eventType);
  return (await query.execute()).map(toDelivery);
}

/** A delivery is always looked up with its webhook: an identifier of another one finds nothing. */
export async function findDelivery(
  db: Queries,
  key: { webhookId: string; id: string },
): Promise<Delivery | null> {
  const row = await db
    .selectFrom('deliveries')
    .selectAll()
    .where('id', '=', key.id)
    .where('webhook_id', '=', key.webhookId)
    .executeTakeFirst();
  return row === undefined ? null : toDelivery(row);
}

export async function listAttempts(db: Queries, deliveryId: string): Promise<DeliveryAttempt[]> {
  const rows = await db
    .selectFrom('delivery_attempts')
    .selectAll()
    .where('delivery_id', '=', deliveryId)
    .orderBy('attempt')
    .execute();
  return rows.map((row) => ({
    deliveryId: row.delivery_id,
    attempt: row.attempt,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    statusCode: row.status_code,
    error: row.error,
    responseStart: row.response_start,
  }));
}

export interface DueWebhook {
  webhook: Webhook;
  dueAt: number;
}

/** The active webhooks for which something waits, with the time at which the earliest of it is due. */
export async function listDueWebhooks(db: Queries): Promise<DueWebhook[]> {
  const { rows } = await selectDueWebhooks(db, {});
  return rows.flatMap(({ due_at: dueAt, ...row }) =>
    dueAt === null ? [] : [{ webhook: toWebhook(row), dueAt: Number(dueAt) }],
  );
}

type DueWebhookRow = Selectable<Tables['webhooks']> & { due_at: number | null };

const selectDueWebhooks = prepared<object, DueWebhookRow>((db) =>
  db
    .selectFrom('webhooks')
    .selectAll('webhooks')
    .select((eb) =>
      eb
        .selectFrom('deliveries')
        .select((of) => of.fn.min('next_attempt_at').as('due_at'))
        .whereRef('deliveries.webhook_id', '=', 'webhooks.id')
        .where(isWaiting)
        .as('due_at'),
    )
    .where('webhooks.is_active', '=', 1)
    .where('webhooks.deleted_at', 'is', null),
);

export interface Claim {
  webhookId: string;
  now: number;
  /** Until when the claim holds; whoever finds the delivery due after it may claim it again. */
  leaseUntil: number;
  limit: number;
}

/** A claimed delivery. `attempts` is its fencing token: only the claim that counted it may settle it. */
export interface ClaimedDelivery extends Delivery {
  /** Empty where the event is no longer kept, and there is nothing to send. */
  payload: string;
}

/** Takes due deliveries of one webhook; an attempt counts from here, whatever becomes of it. */
export async function claimDue(tx: Queries, claim: Claim): Promise<ClaimedDelivery[]> {
  const { rows } = await updateClaimed(tx, claim);
  return rows.map((row) => ({ ...toDelivery(row), payload: row.payload ?? '' }));
}

type ClaimedRow = Selectable<Tables['deliveries']> & { payload: string | null };

const updateClaimed = prepared<Claim, ClaimedRow>((db, value) =>
  db
    .updateTable('deliveries')
    .set((eb) => ({
      attempts: eb('attempts', '+', 1),
      last_attempt_at: value('now'),
      next_attempt_at: value('leaseUntil'),
    }))
    .where(
      'id',
      'in',
      db
        .selectFrom('deliveries')
        .select('id')
        .where('webhook_id', '=', value('webhookId'))
        .where(isWaiting)
        .where('next_attempt_at', '<=', value('now'))
        // It may have been deactivated or deleted a moment ago.
        .where((eb) =>
          eb.exists(
            eb
              .selectFrom('webhooks')
              .select('id')
              .where('id', '=', value('webhookId'))
              .where('is_active', '=', 1),
          ),
        )
        .orderBy('next_attempt_at')
        .limit(value('limit')),
    )
    .returningAll()
    .returning((eb) =>
      eb
        .selectFrom('events')
        .select('events.payload')
        .whereRef('events.id', '=', 'deliveries.event_id')
        .as('payload'),
    ),
);

/** Undoes a claim that nothing was sent for. */
export async function handBack(tx: Queries, claimed: Delivery, now: number): Promise<void> {
  await tx
    .updateTable('deliveries')
    .set({ attempts: claimed.attempts - 1, next_attempt_at: now })
    .where('id', '=', claimed.id)
    .where('attempts', '=', claimed.attempts)
    .where(isWaiting)
    .execute();
}

/** Moves a claimed delivery on; false where the claim was lost to another, or the delivery has ended. */
export async function settleDelivery(
  tx: Queries,
  claimed: ClaimedDelivery,
  next: NextState,
): Promise<boolean> {
  const { numAffectedRows } = await updateSettled(tx, {
    id: claimed.id,
    claimedAttempts: claimed.attempts,
    attempts: Math.min(claimed.attempts, claimed.maxAttempts),
    status: next.status,
    reason: next.status === 'failed' ? next.reason : null,
    nextAttemptAt: next.status === 'retrying' ? next.nextAttemptAt : (claimed.nextAttemptAt ?? 0),
  });
  return numAffectedRows === 1n;
}

interface Settlement {
  id: string;
  claimedAttempts: number;
  attempts: number;
  status: DeliveryStatus;
  reason: FailureReason | null;
  nextAttemptAt: number;
}

const updateSettled = prepared<Settlement>((db, value) =>
  db
    .updateTable('deliveries')
    .set({
      status: value('status'),
      attempts: value('attempts'),
      failure_reason: value('reason'),
      next_attempt_at: value('nextAttemptAt'),
    })
    .where('id', '=', value('id'))
    .where('attempts', '=', value('claimedAttempts'))
    .where(isWaiting),
);

export async function insertAttempt(tx: Queries, attempt: DeliveryAttempt): Promise<void> {
  await insertAttemptRow(tx, attempt);
}

const insertAttemptRow = prepared<DeliveryAttempt>((db, value) =>
  db
    .insertInto('delivery_attempts')
    .values({
      delivery_id: value('deliveryId'),
      attempt: value('attempt'),
      started_at: value('startedAt'),
      duration_ms: value('durationMs'),
      status_code: value('statusCode'),
      error: value('error'),
      response_start: value('responseStart'),
    })
    .onConflict((conflict) => conflict.doNothing()),
);

/** Ends at most `limit` waiting deliveries of a webhook; answers how many. */
export async function failWaiting(
  tx: Queries,
  ended: { webhookId: string; reason: FailureReason; limit: number },
): Promise<number> {
  const waiting = tx
    .selectFrom('deliveries')
    .select('id')
    .where('webhook_id', '=', ended.webhookId)
    .where(isWaiting)
    .limit(ended.limit);
  const result = await tx
    .updateTable('deliveries')
    .set({ status: 'failed', failure_reason: ended.reason })
    .where('id', 'in', waiting)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export interface Backlog {
  webhookId: string;
  waiting: number;
  oldestDueAt: number;
}

/** How much waits for each webhook. Reads the whole index of what waits: for a slow pass, not for a request. */
export async function countBacklogs(db: Queries): Promise<Backlog[]> {
  const rows = await db
    .selectFrom('deliveries')
    .select((eb) => [
      'webhook_id',
      eb.fn.countAll<number>().as('waiting'),
      eb.fn.min('next_attempt_at').as('oldest_due_at'),
    ])
    .where(isWaiting)
    .groupBy('webhook_id')
    .execute();
  return rows.map((row) => ({
    webhookId: row.webhook_id,
    waiting: Number(row.waiting),
    oldestDueAt: Number(row.oldest_due_at),
  }));
}

/** Each looks at the oldest rows by identifier, which is by time, and deletes at most `limit` of them. */

export async function deleteOldDeliveries(tx: Queries, before: number, limit: number): Promise<number> {
  const oldest = tx.selectFrom('deliveries').select('id').orderBy('id').limit(limit);
  const rows = await tx
    .deleteFrom('deliveries')
    .where('id', 'in', oldest)
    .where('created_at', '<=', before)
    .returning('id')
    .execute();
  const ids = rows.map((row) => row.id);
  if (ids.length > 0) await tx.deleteFrom('delivery_attempts').where('delivery_id', 'in', ids).execute();
  return ids.length;
}

export async function deleteOldEvents(tx: Queries, before: number, limit: number): Promise<number> {
  const oldest = tx.selectFrom('events').select('id').orderBy('id').limit(limit);
  const result = await tx
    .deleteFrom('events')
    .where('id', 'in', oldest)
    .where('created_at', '<=', before)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

function toDelivery(row: Selectable<Tables['deliveries']>): Delivery {
  const isWaiting = row.status === 'pending' || row.status === 'retrying';
  return {
    id: row.id,
    webhookId: row.webhook_id,
    eventId: row.event_id,
    eventType: row.event_type,
    status: row.status,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    lastAttemptAt: row.last_attempt_at,
    nextAttemptAt: isWaiting ? row.next_attempt_at : null,
    failureReason: row.failure_reason,
    createdAt: row.created_at,
  };
}

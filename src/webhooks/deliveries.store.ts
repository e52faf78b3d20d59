import { type Selectable, sql } from 'kysely';
import type { Queries, Tables } from '../db/database.ts';
import type { Page } from '../schema.ts';
import type { DeliveryStatus } from './delivery.ts';

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
export const isWaiting = sql<boolean>`deliveries.status in ('pending', 'retrying')`;

export async function insertDelivery(tx: Queries, delivery: Delivery): Promise<void> {
  await tx.insertInto('deliveries').values(toRow(delivery)).execute();
}

/** Undoes claims that nothing was sent for. */
export async function handBack(
  tx: Queries,
  claimed: ReadonlyArray<Pick<Delivery, 'id' | 'attempts'>>,
  now: number,
): Promise<void> {
  for (const { id, attempts } of claimed) {
    await tx
      .updateTable('deliveries')
      .set({ attempts: attempts - 1, next_attempt_at: now })
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where(isWaiting)
      .execute();
  }
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

function toRow(delivery: Delivery): Tables['deliveries'] {
  return {
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
  };
}

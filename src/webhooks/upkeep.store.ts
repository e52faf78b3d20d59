import type { Queries } from '../db/database.ts';
import { isWaiting } from './deliveries.store.ts';
import type { FailureReason } from './delivery.ts';

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

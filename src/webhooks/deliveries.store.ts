import type { Selectable } from 'kysely';
import type { Queries, Tables } from '../db/database.ts';
import type { Page } from '../schema.ts';

export type DeliveryStatus = Tables['deliveries']['status'];

/** One event on its way to one webhook. Times are milliseconds since the Unix epoch. */
export interface Delivery {
  id: string;
  eventId: string;
  eventType: string;
  status: DeliveryStatus;
  attempts: number;
  lastAttemptAt: number | null;
  createdAt: number;
}

export interface DeliveryFilter {
  webhookId: string;
  status?: DeliveryStatus;
  eventType?: string;
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

function toDelivery(row: Selectable<Tables['deliveries']>): Delivery {
  return {
    id: row.id,
    eventId: row.event_id,
    eventType: row.event_type,
    status: row.status,
    attempts: row.attempts,
    lastAttemptAt: row.last_attempt_at,
    createdAt: row.created_at,
  };
}

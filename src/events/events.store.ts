import type { Queries, Tables } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';

/** The event itself, once; its deliveries refer to it. */
export const insertEvent = prepared<Tables['events']>((db, value) =>
  db.insertInto('events').values({
    id: value('id'),
    type: value('type'),
    payload: value('payload'),
    created_at: value('created_at'),
  }),
);

/** One event on its way to one webhook. */
export const insertDeliveryRow = prepared<Tables['deliveries']>((db, value) =>
  db.insertInto('deliveries').values({
    id: value('id'),
    webhook_id: value('webhook_id'),
    event_id: value('event_id'),
    event_type: value('event_type'),
    status: value('status'),
    attempts: value('attempts'),
    max_attempts: value('max_attempts'),
    last_attempt_at: value('last_attempt_at'),
    next_attempt_at: value('next_attempt_at'),
    failure_reason: value('failure_reason'),
    created_at: value('created_at'),
  }),
);

export async function hasEvent(db: Queries, id: string): Promise<boolean> {
  const row = await db.selectFrom('events').select('id').where('id', '=', id).executeTakeFirst();
  return row !== undefined;
}

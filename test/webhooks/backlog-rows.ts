import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface BacklogRows {
  webhookId: string;
  count: number;
  /** What claims have counted already, of this many. */
  attempts: number;
  maxAttempts: number;
  dueAt: number;
}

const INSERT = `
  with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < :count)
  insert into deliveries (id, webhook_id, event_id, event_type, status, attempts, max_attempts,
    last_attempt_at, next_attempt_at, failure_reason, created_at)
  select 'delivery_' || printf('%026d', n), :webhookId, :eventId, 'agent.deleted', 'pending', :attempts,
    :maxAttempts, null, :dueAt, null, :dueAt
  from numbers`;

const EVENT_ID = `evt_${'0'.repeat(26)}`;

/** Deliveries of one event that wait and are due, straight into the file: by the API it would take minutes. */
export function insertBacklog(path: string, rows: BacklogRows): void {
  withDatabase(path, (database) => {
    const { webhookId, count, attempts, maxAttempts, dueAt } = rows;
    database.exec('begin immediate');
    database
      .prepare("insert into events (id, type, payload, created_at) values (?, 'agent.deleted', ?, ?)")
      .run(EVENT_ID, JSON.stringify({ id: EVENT_ID, type: 'agent.deleted' }), dueAt);
    database.prepare(INSERT).run({ webhookId, count, eventId: EVENT_ID, attempts, maxAttempts, dueAt });
    database.exec('commit');
  });
}

/** How many of a webhook's waiting deliveries a claim has taken at least once. */
export function countClaimed(path: string, webhookId: string): { claimed: number; waiting: number } {
  return withDatabase(path, (database) => {
    const row = database
      .prepare(
        `select count(*) as waiting, count(*) filter (where attempts > 0) as claimed from deliveries
         where webhook_id = ? and status in ('pending', 'retrying')`,
      )
      .get(webhookId);
    return { claimed: Number(row?.['claimed']), waiting: Number(row?.['waiting']) };
  });
}

export const databaseOf = ({ dataDir }: { dataDir: string }): string => join(dataDir, 'signet.db');

function withDatabase<Result>(path: string, use: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(path);
  try {
    return use(database);
  } finally {
    database.close();
  }
}

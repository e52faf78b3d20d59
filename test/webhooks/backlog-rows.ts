import type { TestDatabase } from '../databases.ts';

export interface BacklogRows {
  webhookId: string;
  count: number;
  /** What claims have counted already, of this many. */
  attempts: number;
  maxAttempts: number;
  dueAt: number;
}

const EVENT_ID = `evt_${'0'.repeat(26)}`;

/** Deliveries of one event that wait and are due, straight into the tables: by the API it would take minutes. */
export async function insertBacklog(query: TestDatabase['query'], rows: BacklogRows): Promise<void> {
  const { webhookId, count, attempts, maxAttempts, dueAt } = rows;
  const payload = JSON.stringify({ id: EVENT_ID, type: 'agent.deleted' });
  await query(`insert into events (id, type, payload, created_at)
    values ('${EVENT_ID}', 'agent.deleted', '${payload}', ${dueAt})`);
  // The identifiers have 26 digits, eleven of which count.
  await query(`
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${count})
    insert into deliveries (id, webhook_id, event_id, event_type, status, attempts, max_attempts,
      last_attempt_at, next_attempt_at, failure_reason, created_at)
    select 'delivery_000000000000000' || substr(cast(100000000000 + n as text), 2), '${webhookId}', '${EVENT_ID}',
      'agent.deleted', 'pending', ${attempts}, ${maxAttempts}, null, ${dueAt}, null, ${dueAt}
    from numbers`);
}

/** Of a webhook's waiting deliveries, and how many of them are under their first attempt. */
export async function countUnderWay(
  query: TestDatabase['query'],
  webhookId: string,
): Promise<{ underWay: number; waiting: number }> {
  const [row] = await query(
    `select count(*) as waiting, count(*) filter (where status = 'pending' and attempts > 0) as under_way
     from deliveries
     where webhook_id = '${webhookId}' and status in ('pending', 'retrying')`,
  );
  return { underWay: Number(row?.['under_way']), waiting: Number(row?.['waiting']) };
}

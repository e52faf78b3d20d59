import type { Selectable } from 'kysely';
import type { Queries, Tables } from '../db/database.ts';
import type { SqliteDatabase } from '../db/sqlite.ts';
import { translated } from '../db/sqlite-dialect.ts';
import type { NewDelivery, NewEvent } from '../events/outbox.ts';
import type {
  Claim,
  ClaimedDelivery,
  DueWebhook,
  QueueStore,
  Settlement,
  SuccessNote,
} from './queue.store.ts';
import { toWebhook } from './webhooks.store.ts';

const IS_WAITING = `deliveries.status in ('pending', 'retrying')`;

// `limit ? + 0`: for a bare parameter SQLite compiles the statement again each time that it runs.
const sql = {
  insertEvent: 'insert into events (id, type, payload, created_at) values (?, ?, ?, ?)',
  insertDelivery: `insert into deliveries (id, webhook_id, event_id, event_type, status, attempts, max_attempts,
    last_attempt_at, next_attempt_at, failure_reason, created_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  earliestAfter: `select webhook_id, next_attempt_at from deliveries where ${IS_WAITING} and webhook_id > ?
    order by webhook_id, next_attempt_at limit 1`,
  activeWebhook: 'select * from webhooks where id = ? and is_active = 1',
  due: `select deliveries.id, webhook_id as webhookId, event_id as eventId, event_type as eventType,
    attempts + 1 as attempts, max_attempts as maxAttempts, coalesce(payload, '') as payload
    from deliveries left join events on events.id = event_id
    where webhook_id = ? and ${IS_WAITING} and next_attempt_at <= ?
      and exists (select 1 from webhooks where webhooks.id = webhook_id and is_active = 1)
    order by next_attempt_at limit ? + 0`,
  claim: 'update deliveries set attempts = ?, last_attempt_at = ?, next_attempt_at = ? where id = ?',
  insertAttempt: `insert into delivery_attempts
    (delivery_id, attempt, started_at, duration_ms, status_code, error, response_start)
    values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
  settle: `update deliveries set status = ?, failure_reason = ?, attempts = ?,
    next_attempt_at = coalesce(?, next_attempt_at) where id = ? and attempts = ? and ${IS_WAITING}`,
  noteSuccess: `update webhooks set consecutive_fails = 0, failing_attempts = 0, last_success_at = ? where id = ?
    and (consecutive_fails > 0 or failing_attempts > 0 or last_success_at is null or last_success_at <= ?)`,
};

/** Loops over prepared statements, all on the writer: nobody else writes while the transaction runs. */
export class SqliteQueueStore implements QueueStore {
  readonly #database: SqliteDatabase;

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  async publish(
    _tx: Queries,
    events: readonly NewEvent[],
    deliveries: readonly NewDelivery[],
  ): Promise<void> {
    for (const { id, type, payload, createdAt } of events) {
      this.#run(sql.insertEvent, id, type, payload, createdAt);
    }
    for (const { event, ...delivery } of deliveries) {
      this.#run(
        sql.insertDelivery,
        delivery.id,
        delivery.webhookId,
        event.id,
        event.type,
        delivery.status,
        delivery.attempts,
        delivery.maxAttempts,
        delivery.lastAttemptAt,
        delivery.nextAttemptAt,
        delivery.failureReason,
        event.createdAt,
      );
    }
  }

  async listDue(): Promise<DueWebhook[]> {
    return translated(() => [...this.#due()]);
  }

  async claim(_tx: Queries, claims: readonly Claim[]): Promise<ClaimedDelivery[]> {
    return translated(() => claims.flatMap((claim) => this.#claim(claim)));
  }

  async settle(_tx: Queries, settlements: readonly Settlement[]): Promise<boolean[]> {
    return settlements.map((settlement) => this.#settle(settlement));
  }

  async noteSuccesses(_tx: Queries, { webhookIds, now, notSince }: SuccessNote): Promise<void> {
    for (const id of webhookIds) this.#run(sql.noteSuccess, now, id, notSince);
  }

  /** One step in the index of what waits for each webhook, however much waits for it. */
  *#due(): Generator<DueWebhook> {
    const earliest = this.#database.prepareWrite(sql.earliestAfter);
    const webhook = this.#database.prepareWrite(sql.activeWebhook);
    let found = earliest.get('') as Earliest | undefined;
    while (found !== undefined) {
      const row = webhook.get(found.webhook_id) as Selectable<Tables['webhooks']> | undefined;
      if (row !== undefined) yield { webhook: toWebhook(row), dueAt: found.next_attempt_at };
      found = earliest.get(found.webhook_id) as Earliest | undefined;
    }
  }

  /** Found first, then taken one by one: a third of what one statement over a subquery costs. */
  #claim({ webhookId, now, leaseUntil, limit }: Claim): ClaimedDelivery[] {
    const due = this.#database.prepareWrite(sql.due).all(webhookId, now, limit);
    const claim = this.#database.prepareWrite(sql.claim);
    const claimed = due as unknown as ClaimedDelivery[];
    for (const { attempts, id } of claimed) claim.run(attempts, now, leaseUntil, id);
    return claimed;
  }

  #settle({ delivery, next, attempt }: Settlement): boolean {
    if (attempt !== null) {
      this.#run(
        sql.insertAttempt,
        attempt.deliveryId,
        attempt.attempt,
        attempt.startedAt,
        attempt.durationMs,
        attempt.statusCode,
        attempt.error,
        attempt.responseStart,
      );
    }
    const { changes } = this.#run(
      sql.settle,
      next.status,
      next.status === 'failed' ? next.reason : null,
      Math.min(delivery.attempts, delivery.maxAttempts),
      next.status === 'retrying' ? next.nextAttemptAt : null,
      delivery.id,
      delivery.attempts,
    );
    return changes === 1;
  }

  #run(text: string, ...parameters: (string | number | null)[]) {
    return translated(() => this.#database.prepareWrite(text).run(...parameters));
  }
}

interface Earliest {
  webhook_id: string;
  next_attempt_at: number;
}

import type { Selectable } from 'kysely';
import type { Queries, Tables } from '../db/database.ts';
import { columns, runStatement } from '../db/postgres-statement.ts';
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

const sql = {
  publish: `with stored as (
      insert into events (id, type, payload, created_at)
      select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
    )
    insert into deliveries (id, webhook_id, event_id, event_type, status, attempts, max_attempts, last_attempt_at,
      next_attempt_at, failure_reason, created_at)
    select * from unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::integer[], $11::integer[],
      $12::bigint[], $13::bigint[], $14::text[], $15::bigint[])`,
  // One step in the index of what waits for each webhook, however much waits for it.
  listDue: `with recursive waiting (webhook_id) as (
      (select webhook_id from deliveries where ${IS_WAITING} order by webhook_id limit 1)
      union all
      select (select webhook_id from deliveries where ${IS_WAITING} and webhook_id > waiting.webhook_id
        order by webhook_id limit 1)
      from waiting where waiting.webhook_id is not null
    )
    select webhooks.*, earliest.next_attempt_at as due_at
    from waiting join webhooks on webhooks.id = waiting.webhook_id and is_active = 1
    cross join lateral (select next_attempt_at from deliveries
      where ${IS_WAITING} and webhook_id = waiting.webhook_id order by next_attempt_at limit 1) as earliest`,
  // What another instance is taking at this moment is passed over.
  claim: `with due as (
      select found.id, claims.now, claims.lease_until
      from unnest($1::text[], $2::bigint[], $3::bigint[], $4::integer[])
        as claims (webhook_id, now, lease_until, most)
      cross join lateral (select id from deliveries
        where webhook_id = claims.webhook_id and ${IS_WAITING} and next_attempt_at <= claims.now
          and exists (select 1 from webhooks where webhooks.id = claims.webhook_id and is_active = 1)
        order by next_attempt_at limit claims.most for update skip locked) as found
    )
    update deliveries set attempts = attempts + 1, last_attempt_at = due.now, next_attempt_at = due.lease_until
    from due where deliveries.id = due.id
    returning deliveries.id, webhook_id as "webhookId", event_id as "eventId", event_type as "eventType", attempts,
      max_attempts as "maxAttempts",
      coalesce((select payload from events where events.id = event_id), '') as payload`,
  insertAttempts: `insert into delivery_attempts
      (delivery_id, attempt, started_at, duration_ms, status_code, error, response_start)
    select * from unnest($1::text[], $2::integer[], $3::bigint[], $4::integer[], $5::integer[], $6::text[], $7::text[])
    on conflict do nothing`,
  settle: `update deliveries set status = given.status, failure_reason = given.reason, attempts = given.counted,
      next_attempt_at = coalesce(given.next_attempt_at, deliveries.next_attempt_at)
    from unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::integer[], $6::bigint[]) with ordinality
      as given (id, attempts, status, reason, counted, next_attempt_at, position)
    where deliveries.id = given.id and deliveries.attempts = given.attempts and ${IS_WAITING}
    returning given.position`,
  // Locked in the order of the identifiers, as everybody locks them.
  noteSuccesses: `with noted as (
      select id from webhooks where id = any($1::text[])
        and (consecutive_fails > 0 or failing_attempts > 0 or last_success_at is null or last_success_at <= $3)
      order by id for update
    )
    update webhooks set consecutive_fails = 0, failing_attempts = 0, last_success_at = $2
    from noted where webhooks.id = noted.id`,
};

/** One statement for all there is to do, over arrays. */
export class PostgresQueueStore implements QueueStore {
  async publish(tx: Queries, events: readonly NewEvent[], deliveries: readonly NewDelivery[]): Promise<void> {
    await runStatement(tx, sql.publish, [
      ...columns(events, [
        (event) => event.id,
        (event) => event.type,
        (event) => event.payload,
        (event) => event.createdAt,
      ]),
      ...columns(deliveries, [
        (delivery) => delivery.id,
        (delivery) => delivery.webhookId,
        (delivery) => delivery.event.id,
        (delivery) => delivery.event.type,
        (delivery) => delivery.status,
        (delivery) => delivery.attempts,
        (delivery) => delivery.maxAttempts,
        (delivery) => delivery.lastAttemptAt,
        (delivery) => delivery.nextAttemptAt,
        (delivery) => delivery.failureReason,
        (delivery) => delivery.event.createdAt,
      ]),
    ]);
  }

  async listDue(tx: Queries): Promise<DueWebhook[]> {
    const rows = await runStatement<Selectable<Tables['webhooks']> & { due_at: number }>(tx, sql.listDue, []);
    return rows.map(({ due_at: dueAt, ...row }) => ({ webhook: toWebhook(row), dueAt }));
  }

  claim(tx: Queries, claims: readonly Claim[]): Promise<ClaimedDelivery[]> {
    const given = columns(claims, [
      (claim) => claim.webhookId,
      (claim) => claim.now,
      (claim) => claim.leaseUntil,
      (claim) => claim.limit,
    ]);
    return runStatement<ClaimedDelivery>(tx, sql.claim, given);
  }

  async settle(tx: Queries, settlements: readonly Settlement[]): Promise<boolean[]> {
    if (settlements.length === 0) return [];
    await this.#insertAttempts(tx, settlements);
    const given = columns(settlements, [
      ({ delivery }) => delivery.id,
      ({ delivery }) => delivery.attempts,
      ({ next }) => next.status,
      ({ next }) => (next.status === 'failed' ? next.reason : null),
      ({ delivery }) => Math.min(delivery.attempts, delivery.maxAttempts),
      ({ next }) => (next.status === 'retrying' ? next.nextAttemptAt : null),
    ]);
    const settled = await runStatement<{ position: number }>(tx, sql.settle, given);
    const positions = new Set(settled.map(({ position }) => position));
    return settlements.map((_, index) => positions.has(index + 1));
  }

  async noteSuccesses(tx: Queries, { webhookIds, now, notSince }: SuccessNote): Promise<void> {
    await runStatement(tx, sql.noteSuccesses, [webhookIds, now, notSince]);
  }

  async #insertAttempts(tx: Queries, settlements: readonly Settlement[]): Promise<void> {
    const attempts = settlements.flatMap(({ attempt }) => (attempt === null ? [] : [attempt]));
    if (attempts.length === 0) return;
    const given = columns(attempts, [
      (attempt) => attempt.deliveryId,
      (attempt) => attempt.attempt,
      (attempt) => attempt.startedAt,
      (attempt) => attempt.durationMs,
      (attempt) => attempt.statusCode,
      (attempt) => attempt.error,
      (attempt) => attempt.responseStart,
    ]);
    await runStatement(tx, sql.insertAttempts, given);
  }
}

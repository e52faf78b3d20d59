import type { Selectable } from 'kysely';
import type { Queries, Tables } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';
import { type Delivery, type DeliveryAttempt, isWaiting, toDelivery } from './deliveries.store.ts';
import type { DeliveryStatus, FailureReason, NextState } from './delivery.ts';
import type { Webhook } from './webhook.ts';
import { toWebhook } from './webhooks.store.ts';

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

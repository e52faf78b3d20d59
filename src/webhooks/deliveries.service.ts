import { toTimestamp } from '../clock.ts';
import type { Queries } from '../db/database.ts';
import { conflict, notFound } from '../errors.ts';
import type { EventType } from '../events/event.ts';
import { hasEvent, insertEvent } from '../events/events.store.ts';
import type { Attempts } from './attempt.ts';
import type { ClaimedDelivery } from './claims.store.ts';
import { LEASE_MILLISECONDS } from './deliver.worker.ts';
import { type Delivery, findDelivery, insertDelivery } from './deliveries.store.ts';
import { isSuccess } from './delivery.ts';
import type { Exchange } from './sender.ts';
import type { Webhook } from './webhook.ts';
import { requireWebhook, subjectOf, type WebhooksDeps } from './webhooks.service.ts';

export interface DeliveriesDeps extends WebhooksDeps {
  attempts: Attempts;
}

export interface TestOutcome {
  deliveryId: string;
  isSuccess: boolean;
  exchange: Exchange;
}

/** Sends one request now, to this webhook alone, whether it is active or not; it is not repeated. */
export async function testWebhook(
  deps: DeliveriesDeps,
  webhookId: string,
  type: EventType,
): Promise<TestOutcome> {
  const attempt = await deps.database.transaction(async (tx) => {
    const webhook = await requireWebhook(tx, webhookId);
    const delivery = newTestDelivery(deps, webhook, type);
    const { eventId: id, payload, createdAt: created_at } = delivery;
    await insertEvent(tx, { id, type, payload, created_at });
    await insertDelivery(tx, delivery);
    return { webhook, delivery };
  });
  const finished = await deps.attempts.send(attempt);
  await deps.attempts.settle(finished);
  const { exchange } = finished;
  const { outcome } = exchange;
  return {
    deliveryId: attempt.delivery.id,
    isSuccess: outcome.kind === 'answered' && isSuccess(outcome.statusCode),
    exchange,
  };
}

/** A new delivery of the same event: what has ended stays ended. */
export async function redeliver(
  deps: DeliveriesDeps,
  key: { webhookId: string; id: string },
): Promise<Delivery> {
  const { database, clock, ids, outbox } = deps;
  return database.transaction(async (tx) => {
    const webhook = await requireWebhook(tx, key.webhookId);
    const ended = await requireDelivery(tx, key);
    if (ended.nextAttemptAt !== null)
      throw conflict('The delivery has not ended yet. It will be tried again by itself.');
    // A delivery that was made by a redelivery outlives its event.
    if (!(await hasEvent(tx, ended.eventId)))
      throw conflict('The event is older than 30 days and is no longer kept.');
    const now = clock.now();
    const delivery: Delivery = {
      ...ended,
      id: ids.newId('delivery'),
      status: 'pending',
      attempts: 0,
      maxAttempts: webhook.maxRetries,
      lastAttemptAt: null,
      nextAttemptAt: now,
      failureReason: null,
      createdAt: now,
    };
    await insertDelivery(tx, delivery);
    outbox.noteNews();
    return delivery;
  });
}

export async function requireDelivery(
  db: Queries,
  key: { webhookId: string; id: string },
): Promise<Delivery> {
  const delivery = await findDelivery(db, key);
  if (delivery === null) throw notFound('delivery');
  return delivery;
}

/** Claimed from the start: only this call sends it. */
function newTestDelivery({ clock, ids }: DeliveriesDeps, webhook: Webhook, type: EventType): ClaimedDelivery {
  const now = clock.now();
  const eventId = ids.newId('evt');
  const data = { ...subjectOf(webhook), test: true };
  return {
    id: ids.newId('delivery'),
    webhookId: webhook.id,
    eventId,
    eventType: type,
    status: 'pending',
    attempts: 1,
    maxAttempts: 1,
    lastAttemptAt: now,
    nextAttemptAt: now + LEASE_MILLISECONDS,
    failureReason: null,
    createdAt: now,
    payload: JSON.stringify({ id: eventId, type, timestamp: toTimestamp(now), data }),
  };
}

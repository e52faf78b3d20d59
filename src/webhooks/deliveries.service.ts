import type { Actor } from '../audit/actor.ts';
import { toTimestamp } from '../clock.ts';
import type { Queries } from '../db/database.ts';
import { conflict, notFound } from '../errors.ts';
import type { EventType } from '../events/event.ts';
import { hasEvent } from '../events/events.store.ts';
import type { NewDelivery } from '../events/outbox.ts';
import type { MakeAttempt } from './attempt.ts';
import { LEASE_MILLISECONDS } from './deliver.worker.ts';
import { type Delivery, findDelivery, insertDelivery } from './deliveries.store.ts';
import { isSuccess } from './delivery.ts';
import type { QueueStore } from './queue.store.ts';
import type { Exchange } from './sender.ts';
import { settle } from './settle.ts';
import type { Webhook } from './webhook.ts';
import { requireWebhook, subjectOf, targetOf, type WebhooksDeps } from './webhooks.service.ts';

export interface DeliveriesDeps extends WebhooksDeps {
  queue: QueueStore;
  makeAttempt: MakeAttempt;
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
  { type, by }: { type: EventType; by: Actor },
): Promise<TestOutcome> {
  const { database, queue, outbox, audit } = deps;
  const { webhook, delivery } = await database.audited(async (tx) => {
    const found = await requireWebhook(tx, webhookId);
    const test = newTest(deps, found, type);
    await queue.publish(tx, [test.event], [test]);
    const after = { delivery_id: test.id, event: type };
    await audit.record(tx, by, { action: 'webhook.tested', target: targetOf(found), after });
    return { webhook: found, delivery: test };
  });
  const { event, ...rest } = delivery;
  const claimed = { ...rest, eventId: event.id, eventType: event.type, payload: event.payload };
  const finished = await deps.makeAttempt({ webhook, delivery: claimed });
  const hasDeactivated = await database.readCommitted((tx) => settle(deps, tx, [finished]));
  if (hasDeactivated) await outbox.reload(database.reader);
  const { exchange } = finished.sent;
  const { outcome } = exchange;
  return {
    deliveryId: delivery.id,
    isSuccess: outcome.kind === 'answered' && isSuccess(outcome.statusCode),
    exchange,
  };
}

/** A new delivery of the same event: what has ended stays ended. */
export async function redeliver(
  deps: DeliveriesDeps,
  key: { webhookId: string; id: string },
  by: Actor,
): Promise<Delivery> {
  const { database, clock, ids, outbox, audit } = deps;
  return database.audited(async (tx) => {
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
    const after = { delivery_id: delivery.id, redelivery_of: ended.id, event: delivery.eventType };
    await audit.record(tx, by, { action: 'webhook.redelivered', target: targetOf(webhook), after });
    outbox.noteNews(tx);
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
function newTest({ clock, ids }: DeliveriesDeps, webhook: Webhook, type: EventType): NewDelivery {
  const now = clock.now();
  const id = ids.newId('evt');
  const data = { ...subjectOf(webhook), test: true };
  const payload = JSON.stringify({ id, type, timestamp: toTimestamp(now), data });
  return {
    id: ids.newId('delivery'),
    event: { id, type, payload, createdAt: now },
    webhookId: webhook.id,
    status: 'pending',
    attempts: 1,
    maxAttempts: 1,
    lastAttemptAt: now,
    nextAttemptAt: now + LEASE_MILLISECONDS,
    failureReason: null,
  };
}

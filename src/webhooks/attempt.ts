import { LRUCache } from 'lru-cache';
import { type Clock, toSeconds } from '../clock.ts';
import { coalesce } from '../db/coalesce.ts';
import type { Database, Queries } from '../db/database.ts';
import { type MasterKey, unseal } from '../encryption.ts';
import type { Outbox } from '../events/outbox.ts';
import type { Metrics } from '../metrics.ts';
import { version } from '../version.ts';
import { type ClaimedDelivery, insertAttempt, settleDelivery } from './claims.store.ts';
import { afterAttempt, type NextState } from './delivery.ts';
import type { Exchange, Sender, WebhookRequest } from './sender.ts';
import { signatureHeaders } from './signature.ts';
import { isGivenUp, secretContext, type Webhook } from './webhook.ts';
import { subjectOf } from './webhooks.service.ts';
import { findWebhook, noteSuccess, updateWebhook } from './webhooks.store.ts';

export interface AttemptDeps {
  database: Database;
  clock: Clock;
  masterKey: MasterKey;
  outbox: Outbox;
  sender: Sender;
  metrics: Metrics;
  /** From 0 up to 1; spreads retries. */
  random: () => number;
}

export interface ClaimedAttempt {
  webhook: Webhook;
  delivery: ClaimedDelivery;
}

export interface FinishedAttempt extends ClaimedAttempt {
  exchange: Exchange;
  startedAt: number;
}

/** The two halves of an attempt: the exchange, and what becomes of the delivery by it. */
export interface Attempts {
  send(attempt: ClaimedAttempt): Promise<FinishedAttempt>;
  /** Writes history and state; what arrives together is written in one transaction. */
  settle(finished: FinishedAttempt): Promise<NextState['status']>;
}

export function createAttempts(deps: AttemptDeps): Attempts {
  const openSecret = secretOpener(deps.masterKey);
  return {
    async send(attempt) {
      const startedAt = deps.clock.now();
      const exchange = await deps.sender.send(toRequest(openSecret, attempt, startedAt));
      return { ...attempt, exchange, startedAt };
    },
    settle: coalesce((finished: readonly FinishedAttempt[]) => settleAll(deps, finished), LARGEST_SETTLEMENT),
  };
}

const LARGEST_SETTLEMENT = 64;
const OPENED_SECRETS = 1000;

type OpenSecret = (sealed: string, webhookId: string) => string;

function secretOpener(masterKey: MasterKey): OpenSecret {
  const opened = new LRUCache<string, string>({ max: OPENED_SECRETS });
  return (sealed, webhookId) => {
    const known = opened.get(sealed);
    if (known !== undefined) return known;
    const secret = unseal(masterKey, sealed, secretContext(webhookId));
    opened.set(sealed, secret);
    return secret;
  };
}

/** Signed afresh each time; the body and the event's id are those of the first time. */
function toRequest(
  openSecret: OpenSecret,
  { webhook, delivery }: ClaimedAttempt,
  now: number,
): WebhookRequest {
  const { previousSecret } = webhook;
  const isOverlapping = previousSecret !== null && previousSecret.expiresAt > now;
  const body = delivery.payload;
  const signable = { eventId: delivery.eventId, timestamp: toSeconds(now), body };
  return {
    url: webhook.url,
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': `Signet/${version}`,
      'x-webhook-event': delivery.eventType,
      'x-webhook-delivery': delivery.id,
      ...signatureHeaders(signable, {
        current: openSecret(webhook.sealedSecret, webhook.id),
        previous: isOverlapping ? openSecret(previousSecret.sealed, webhook.id) : null,
      }),
    },
  };
}

const SUCCESS_STEP_MILLISECONDS = 60_000;

async function settleAll(
  deps: AttemptDeps,
  finished: readonly FinishedAttempt[],
): Promise<NextState['status'][]> {
  const { database, outbox } = deps;
  let hasDeactivated = false;
  const statuses = await database.transaction(async (tx) => {
    const settled: NextState['status'][] = [];
    const healthy = new Set<string>();
    for (const attempt of finished) {
      const { status, isDeactivated } = await settleOne(deps, tx, attempt);
      settled.push(status);
      hasDeactivated ||= isDeactivated;
      if (status === 'delivered') healthy.add(attempt.delivery.webhookId);
    }
    const now = deps.clock.now();
    const notSince = now - SUCCESS_STEP_MILLISECONDS;
    for (const id of healthy) await noteSuccess(tx, { id, now, notSince });
    return settled;
  });
  if (hasDeactivated) await outbox.reload(database.reader);
  return statuses;
}

async function settleOne(deps: AttemptDeps, tx: Queries, finished: FinishedAttempt) {
  const { delivery, exchange, startedAt } = finished;
  const now = deps.clock.now();
  const next = afterAttempt(
    { number: delivery.attempts, maxAttempts: delivery.maxAttempts },
    exchange.outcome,
    { now, random: deps.random() },
  );
  deps.metrics.observeAttempt(next.status, exchange.durationMs / 1000);
  await insertAttempt(tx, {
    deliveryId: delivery.id,
    attempt: delivery.attempts,
    startedAt,
    durationMs: exchange.durationMs,
    statusCode: exchange.statusCode,
    error: exchange.error,
    responseStart: exchange.responseStart,
  });
  // A claim that ran out may have been taken by another: its outcome is history, not the delivery's.
  const isOurs = await settleDelivery(tx, delivery, next);
  const isDeactivated =
    isOurs &&
    next.status !== 'delivered' &&
    (await noteFailure(deps, tx, { webhookId: delivery.webhookId, next, now }));
  return { status: next.status, isDeactivated };
}

/** Ends a claim that cannot be sent: a crash used its attempts up, or its event is no longer kept. */
export async function endUnsent(deps: AttemptDeps, tx: Queries, delivery: ClaimedDelivery): Promise<void> {
  const next = { status: 'dead' } as const;
  if (!(await settleDelivery(tx, delivery, next))) return;
  await noteFailure(deps, tx, { webhookId: delivery.webhookId, next, now: deps.clock.now() });
}

/** What the outcome says of the receiver; true where nothing more is sent to it from now on. */
async function noteFailure(
  deps: AttemptDeps,
  tx: Queries,
  { webhookId: id, next, now }: { webhookId: string; next: NextState; now: number },
): Promise<boolean> {
  const webhook = await findWebhook(tx, id);
  if (webhook === null) return false;
  const after = withFailure(webhook, next);
  const isGone = next.status === 'failed' && next.reason === 'gone';
  const isEnding = webhook.isActive && (isGone || isGivenUp(after, now));
  await updateWebhook(tx, isEnding ? { ...after, isActive: false, deactivatedAt: now } : after);
  if (isEnding) {
    const data = {
      ...subjectOf(webhook),
      changes: ['is_active'],
      reason: isGone ? 'gone' : 'failing',
    } as const;
    await deps.outbox.publish(tx, 'webhook.updated', data, { except: id });
  }
  return isEnding;
}

const withFailure = (webhook: Webhook, next: NextState): Webhook => ({
  ...webhook,
  failingAttempts: webhook.failingAttempts + 1,
  consecutiveFails: webhook.consecutiveFails + (next.status === 'dead' ? 1 : 0),
});

import { LRUCache } from 'lru-cache';
import { type Clock, toSeconds } from '../clock.ts';
import { type MasterKey, unseal } from '../encryption.ts';
import type { Metrics } from '../metrics.ts';
import { type AttemptOutcome, afterAttempt, type NextState, parseRetryAfter } from './delivery.ts';
import type { ClaimedDelivery } from './queue.store.ts';
import type { Exchange, Sender } from './sender.ts';
import { secretContext, type Webhook } from './webhook.ts';
import type { WebhookRequest } from './webhook-request.ts';

interface Deps {
  clock: Clock;
  masterKey: MasterKey;
  sender: Sender;
  metrics: Metrics;
  /** From 0 up to 1; spreads retries. */
  random: () => number;
}

export interface ClaimedAttempt {
  webhook: Webhook;
  delivery: ClaimedDelivery;
}

/** An attempt that is over, and what follows from it. `sent` is null where there was nothing that could be sent. */
export interface FinishedAttempt {
  delivery: ClaimedDelivery;
  sent: Sent | null;
  next: NextState;
}

interface Sent {
  exchange: Exchange;
  startedAt: number;
}

/** Makes the request of one claimed delivery, and says what it came to. */
export type MakeAttempt = (attempt: ClaimedAttempt) => Promise<FinishedAttempt & { sent: Sent }>;

export function createAttempts(deps: Deps): MakeAttempt {
  const { clock, sender, metrics, random } = deps;
  const openSecret = secretOpener(deps.masterKey);
  return async (attempt) => {
    const { delivery } = attempt;
    const startedAt = clock.now();
    const exchange = await sender.send(toRequest(openSecret, attempt, startedAt));
    const now = clock.now();
    const next = afterAttempt(
      { number: delivery.attempts, maxAttempts: delivery.maxAttempts },
      toAttemptOutcome(exchange, now),
      { now, random: random() },
    );
    metrics.observeAttempt(next.status, exchange.durationMs / 1000);
    return { delivery, sent: { exchange, startedAt }, next };
  };
}

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
  return {
    url: webhook.url,
    eventType: delivery.eventType,
    deliveryId: delivery.id,
    signable: { eventId: delivery.eventId, timestamp: toSeconds(now), body: delivery.payload },
    secrets: {
      current: openSecret(webhook.sealedSecret, webhook.id),
      previous: isOverlapping ? openSecret(previousSecret.sealed, webhook.id) : null,
    },
  };
}

function toAttemptOutcome({ outcome }: Exchange, now: number): AttemptOutcome {
  if (outcome.kind !== 'answered') return outcome;
  const { statusCode, retryAfter } = outcome;
  return { kind: 'answered', statusCode, retryAfterSeconds: parseRetryAfter(retryAfter, now) };
}

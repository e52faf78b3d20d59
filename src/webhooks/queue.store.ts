import type { Queries } from '../db/database.ts';
import type { OutboxStore } from '../events/outbox.ts';
import type { DeliveryAttempt } from './deliveries.store.ts';
import type { NextState } from './delivery.ts';
import type { Webhook } from './webhook.ts';

/**
 * The queue of deliveries as the engine works on it. Each operation takes all that there is to do and belongs to the
 * transaction that it is given; `queue.store.sqlite.ts` implements it.
 */
export interface QueueStore extends OutboxStore {
  /** The active webhooks for which something waits, with the time at which the earliest of it is due. */
  listDue(tx: Queries): Promise<DueWebhook[]>;
  /** Takes due deliveries of active webhooks; an attempt counts from here, whatever becomes of it. */
  claim(tx: Queries, claims: readonly Claim[]): Promise<ClaimedDelivery[]>;
  /**
   * Writes what came of attempts, and moves their deliveries on; false for each that was claimed anew meanwhile or has
   * ended: its attempt is history, and changes nothing else.
   */
  settle(tx: Queries, settlements: readonly Settlement[]): Promise<boolean[]>;
  /** Notes that webhooks took something. Written where it says something new, not once a delivery. */
  noteSuccesses(tx: Queries, success: SuccessNote): Promise<void>;
}

export interface DueWebhook {
  webhook: Webhook;
  dueAt: number;
}

export interface Claim {
  webhookId: string;
  now: number;
  /** Until when the claim holds; whoever finds the delivery due after it may claim it again. */
  leaseUntil: number;
  limit: number;
}

/** `attempts` is the fencing token: only the claim that counted it may settle the delivery. */
export interface ClaimedDelivery {
  id: string;
  webhookId: string;
  eventId: string;
  eventType: string;
  attempts: number;
  maxAttempts: number;
  /** Empty where the event is no longer kept, and there is nothing to send. */
  payload: string;
}

export interface Settlement {
  delivery: ClaimedDelivery;
  next: NextState;
  /** null where nothing was sent. */
  attempt: DeliveryAttempt | null;
}

export interface SuccessNote {
  webhookIds: readonly string[];
  now: number;
  /** A healthy webhook that was noted later than this is not noted again. */
  notSince: number;
}

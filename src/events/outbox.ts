import { type Clock, toTimestamp } from '../clock.ts';
import type { Queries } from '../db/database.ts';
import type { Ids } from '../ids.ts';
import type { EventData, EventType } from './event.ts';

/** An event as it is stored: once, its deliveries refer to it. */
export interface NewEvent {
  id: string;
  type: EventType;
  payload: string;
  createdAt: number;
}

/** An event on its way to one webhook. Times are milliseconds since the Unix epoch. */
export interface NewDelivery {
  id: string;
  webhookId: string;
  status: 'pending' | 'failed';
  attempts: number;
  maxAttempts: number;
  lastAttemptAt: number | null;
  nextAttemptAt: number;
  failureReason: 'backlog_full' | null;
}

export interface OutboxStore {
  /** Writes an event and its deliveries. */
  publish(tx: Queries, event: NewEvent, deliveries: readonly NewDelivery[]): Promise<void>;
}

/** A webhook as far as events are concerned. */
export interface Subscription {
  webhookId: string;
  /** The most attempts of a delivery to it. */
  maxAttempts: number;
  subscribesTo(type: EventType): boolean;
}

/** Which active webhooks stand, as the transaction sees them. */
export type LoadSubscriptions = (db: Queries) => Promise<Subscription[]>;

interface Deps {
  clock: Clock;
  ids: Ids;
  store: OutboxStore;
  loadSubscriptions: LoadSubscriptions;
  /** Whether so much waits for a webhook that no more may wait. */
  hasFullBacklog(webhookId: string): boolean;
}

/**
 * Writes an event and one delivery for each active webhook that wants it, in the transaction that makes the change:
 * there is no event without its change, and no change without its event. Where nobody subscribes, nothing is written.
 */
export class Outbox {
  readonly #deps: Deps;
  #subscriptions: readonly Subscription[] = [];
  #hasNews = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** To be called after every change of a webhook, before the change is answered. */
  async reload(db: Queries): Promise<void> {
    this.#subscriptions = await this.#deps.loadSubscriptions(db);
  }

  /** One look into memory: what nobody wants costs a token nothing. */
  hasSubscriber(type: EventType): boolean {
    return this.#subscriptions.some((subscription) => subscription.subscribesTo(type));
  }

  /** `except` names a webhook that does not hear of this event: the one that it is about. */
  async publish<Type extends EventType>(
    tx: Queries,
    type: Type,
    data: EventData[Type],
    options: { except?: string } = {},
  ): Promise<void> {
    if (!this.hasSubscriber(type)) return;
    const standing = await this.#deps.loadSubscriptions(tx);
    const subscribers = standing.filter(
      (subscription) => subscription.subscribesTo(type) && subscription.webhookId !== options.except,
    );
    if (subscribers.length === 0) return;
    const event = this.#newEvent(type, data);
    const deliveries = subscribers.map((subscription) => this.#newDelivery(event, subscription));
    await this.#deps.store.publish(tx, event, deliveries);
    this.noteNews();
  }

  /** To be called in a transaction that writes a delivery by itself. */
  noteNews(): void {
    this.#hasNews = true;
  }

  /** Whether deliveries were written since the last call: after a commit, the sign to send them. */
  takeNews(): boolean {
    const hadNews = this.#hasNews;
    this.#hasNews = false;
    return hadNews;
  }

  #newEvent<Type extends EventType>(type: Type, data: EventData[Type]): NewEvent {
    const id = this.#deps.ids.newId('evt');
    const createdAt = this.#deps.clock.now();
    const payload = JSON.stringify({ id, type, timestamp: toTimestamp(createdAt), data });
    return { id, type, payload, createdAt };
  }

  #newDelivery({ createdAt }: NewEvent, { webhookId, maxAttempts }: Subscription): NewDelivery {
    const isFull = this.#deps.hasFullBacklog(webhookId);
    return {
      id: this.#deps.ids.newId('delivery'),
      webhookId,
      status: isFull ? 'failed' : 'pending',
      attempts: 0,
      maxAttempts,
      lastAttemptAt: null,
      nextAttemptAt: createdAt,
      failureReason: isFull ? 'backlog_full' : null,
    };
  }
}

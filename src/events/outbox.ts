import { type Clock, toTimestamp } from '../clock.ts';
import type { Queries, Tables } from '../db/database.ts';
import type { Ids } from '../ids.ts';
import type { EventData, EventType } from './event.ts';
import { insertDeliveryRow, insertEvent } from './events.store.ts';

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
    const event = await this.#insertEvent(tx, type, data);
    for (const subscription of subscribers)
      await insertDeliveryRow(tx, this.#newDelivery(event, subscription));
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

  async #insertEvent<Type extends EventType>(
    tx: Queries,
    type: Type,
    data: EventData[Type],
  ): Promise<NewEvent> {
    const id = this.#deps.ids.newId('evt');
    const createdAt = this.#deps.clock.now();
    const payload = JSON.stringify({ id, type, timestamp: toTimestamp(createdAt), data });
    await insertEvent(tx, { id, type, payload, created_at: createdAt });
    return { id, type, createdAt };
  }

  #newDelivery(event: NewEvent, { webhookId, maxAttempts }: Subscription): Tables['deliveries'] {
    const isFull = this.#deps.hasFullBacklog(webhookId);
    return {
      id: this.#deps.ids.newId('delivery'),
      webhook_id: webhookId,
      event_id: event.id,
      event_type: event.type,
      status: isFull ? 'failed' : 'pending',
      attempts: 0,
      max_attempts: maxAttempts,
      last_attempt_at: null,
      next_attempt_at: event.createdAt,
      failure_reason: isFull ? 'backlog_full' : null,
      created_at: event.createdAt,
    };
  }
}

interface NewEvent {
  id: string;
  type: EventType;
  createdAt: number;
}

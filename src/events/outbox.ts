import { type Clock, toTimestamp } from '../clock.ts';
import type { Queries } from '../db/database.ts';
import type { Ids } from '../ids.ts';
import type { EventData, EventType } from './event.ts';

/** A webhook as far as events are concerned. */
export interface Subscription {
  webhookId: string;
  subscribesTo(type: EventType): boolean;
}

/** Which active webhooks stand, as the transaction sees them. */
export type LoadSubscriptions = (db: Queries) => Promise<Subscription[]>;

/**
 * Writes an event and one delivery for each active webhook that wants it, in the transaction that makes the change:
 * there is no event without its change, and no change without its event. Where nobody subscribes, nothing is written.
 */
export class Outbox {
  readonly #deps: { clock: Clock; ids: Ids; loadSubscriptions: LoadSubscriptions };
  #subscriptions: readonly Subscription[] = [];

  constructor(deps: { clock: Clock; ids: Ids; loadSubscriptions: LoadSubscriptions }) {
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
    const { clock, ids } = this.#deps;
    const id = ids.newId('evt');
    const createdAt = clock.now();
    const payload = JSON.stringify({ id, type, timestamp: toTimestamp(createdAt), data });
    await tx.insertInto('events').values({ id, type, payload, created_at: createdAt }).execute();
    await tx
      .insertInto('deliveries')
      .values(
        subscribers.map((subscription) => ({
          id: ids.newId('delivery'),
          webhook_id: subscription.webhookId,
          event_id: id,
          event_type: type,
          status: 'pending' as const,
          attempts: 0,
          last_attempt_at: null,
          created_at: createdAt,
        })),
      )
      .execute();
  }
}

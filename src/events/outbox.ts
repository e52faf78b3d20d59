import { type Clock, toTimestamp } from '../clock.ts';
import { coalesce } from '../db/coalesce.ts';
import type { Database, Queries } from '../db/database.ts';
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
  event: NewEvent;
  webhookId: string;
  status: 'pending' | 'failed';
  attempts: number;
  maxAttempts: number;
  lastAttemptAt: number | null;
  nextAttemptAt: number;
  failureReason: 'backlog_full' | null;
}

export interface OutboxStore {
  /** Writes events and the deliveries of them. */
  publish(tx: Queries, events: readonly NewEvent[], deliveries: readonly NewDelivery[]): Promise<void>;
}

/** Something that happened, before anybody is told of it. */
export type Happening = { [Type in EventType]: { type: Type; data: EventData[Type] } }[EventType];

/** A webhook as far as events are concerned. */
export interface Subscription {
  webhookId: string;
  /** The most attempts of a delivery to it. */
  maxAttempts: number;
  subscribesTo(type: EventType): boolean;
}

/** What is stored of the webhooks, as the transaction sees it. */
export interface SubscriptionsStore {
  loadSubscriptions(db: Queries): Promise<Subscription[]>;
  /** Counts up with every change of a webhook. */
  loadSubscriptionsVersion(db: Queries): Promise<number>;
}

interface Deps {
  clock: Clock;
  ids: Ids;
  store: OutboxStore;
  subscriptions: SubscriptionsStore;
  database: Database;
  /** Whether other processes change webhooks too. */
  isShared: boolean;
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
  #version = 0;
  readonly #news = new WeakSet<Queries>();
  readonly #look: (asked: null) => Promise<null>;
  readonly #announce: (happening: Happening) => Promise<null>;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#look = coalesce(async (asked: readonly null[]) => {
      await this.#catchUp();
      return asked;
    });
    this.#announce = coalesce(async (happenings: readonly Happening[]) => {
      await deps.database.readCommitted((tx) => this.publishAll(tx, happenings));
      return happenings.map(() => null);
    });
  }

  /** To be called after every change of a webhook, before the change is answered. */
  async reload(db: Queries): Promise<void> {
    const { subscriptions } = this.#deps;
    // The version first: what changes in between is then read again, not missed.
    const version = await subscriptions.loadSubscriptionsVersion(db);
    this.#subscriptions = await subscriptions.loadSubscriptions(db);
    this.#version = version;
  }

  /**
   * To be awaited before `hasSubscriber` is asked: a webhook that another process has made hears of what comes after.
   * Costs a look at the database for all that ask at once, and nothing where no other process is.
   */
  async refresh(): Promise<void> {
    if (this.#deps.isShared) await this.#look(null);
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
    await this.publishAll(tx, [{ type, data } as Happening], options);
  }

  /** Several that belong to one transaction cost one look at the webhooks. */
  async publishAll(
    tx: Queries,
    happenings: readonly Happening[],
    { except }: { except?: string } = {},
  ): Promise<void> {
    const standing = await this.#deps.subscriptions.loadSubscriptions(tx);
    const deliveries = happenings.flatMap((happening) => {
      const subscribers = standing.filter(
        ({ webhookId, subscribesTo }) => webhookId !== except && subscribesTo(happening.type),
      );
      if (subscribers.length === 0) return [];
      const event = this.#newEvent(happening);
      return subscribers.map((subscription) => this.#newDelivery(event, subscription));
    });
    if (deliveries.length === 0) return;
    const events = [...new Set(deliveries.map(({ event }) => event))];
    await this.#deps.store.publish(tx, events, deliveries);
    this.noteNews(tx);
  }

  /** For what changes nothing and so has no transaction of its own; what happens at once shares one. */
  async announce(happening: Happening): Promise<void> {
    await this.#announce(happening);
  }

  /** To be called in a transaction that writes a delivery by itself. */
  noteNews(tx: Queries): void {
    this.#news.add(tx);
  }

  /** Whether what was just committed wrote deliveries: the sign to send them. */
  takeNews(tx: Queries | null): boolean {
    return tx !== null && this.#news.delete(tx);
  }

  async #catchUp(): Promise<void> {
    const { database, subscriptions } = this.#deps;
    const version = await subscriptions.loadSubscriptionsVersion(database.reader);
    if (version !== this.#version) await this.reload(database.reader);
  }

  #newEvent({ type, data }: Happening): NewEvent {
    const id = this.#deps.ids.newId('evt');
    const createdAt = this.#deps.clock.now();
    const payload = JSON.stringify({ id, type, timestamp: toTimestamp(createdAt), data });
    return { id, type, payload, createdAt };
  }

  #newDelivery(event: NewEvent, { webhookId, maxAttempts }: Subscription): NewDelivery {
    const isFull = this.#deps.hasFullBacklog(webhookId);
    return {
      id: this.#deps.ids.newId('delivery'),
      event,
      webhookId,
      status: isFull ? 'failed' : 'pending',
      attempts: 0,
      maxAttempts,
      lastAttemptAt: null,
      nextAttemptAt: event.createdAt,
      failureReason: isFull ? 'backlog_full' : null,
    };
  }
}

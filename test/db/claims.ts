import assert from 'node:assert/strict';
import {
  type Delivery,
  type DeliveryAttempt,
  findDelivery,
  handBack,
} from '../../src/webhooks/deliveries.store.ts';
import type { NextState } from '../../src/webhooks/delivery.ts';
import type { Claim, ClaimedDelivery } from '../../src/webhooks/queue.store.ts';
import type { Webhook } from '../../src/webhooks/webhook.ts';
import type { OpenedDatabase } from './databases.ts';
import { NOW, storeDelivery, storeWebhook } from './rows.ts';

export const LEASE_UNTIL = NOW + 15_000;

/** A webhook, and what is done to its deliveries, each time in a transaction of its own. */
export async function claimScene({ database, queue }: OpenedDatabase, changes: Partial<Webhook> = {}) {
  const { id: webhookId } = await storeWebhook(database, changes);
  const claim = (options: Partial<Claim> = {}): Promise<ClaimedDelivery[]> =>
    database.transaction((tx) =>
      queue.claim(tx, [{ webhookId, now: NOW, leaseUntil: LEASE_UNTIL, limit: 10, ...options }]),
    );
  return {
    webhookId,
    claim,
    store: (delivery: Partial<Delivery> = {}) => storeDelivery(database, webhookId, delivery),
    async claimOne(options: Partial<Claim> = {}) {
      const [claimed] = await claim({ ...options, limit: 1 });
      return claimed ?? assert.fail('nothing was due');
    },
    /** As another that finds the lease run out. */
    reclaimOne: () => claim({ now: LEASE_UNTIL, leaseUntil: LEASE_UNTIL + 1 }).then(first),
    async settle(delivery: ClaimedDelivery, next: NextState) {
      const settlement = { delivery, next, attempt: null };
      return first(await database.transaction((tx) => queue.settle(tx, [settlement])));
    },
    giveBack: (claimed: ClaimedDelivery, now: number) =>
      database.transaction((tx) => handBack(tx, [claimed], now)),
    read: ({ id }: Pick<Delivery, 'id'>) => findDelivery(database.reader, { webhookId, id }),
  };
}

const first = <Item>([item]: readonly Item[]): Item => item ?? assert.fail('there is none');

/** Writes an attempt into the history, as a claim does that was lost meanwhile: of the delivery it changes nothing. */
export async function storeAttempt(
  { database, queue }: OpenedDatabase,
  attempt: DeliveryAttempt,
): Promise<void> {
  const delivery: ClaimedDelivery = {
    id: attempt.deliveryId,
    webhookId: '',
    eventId: '',
    eventType: '',
    attempts: 1_000_000,
    maxAttempts: 1,
    payload: '',
  };
  const settlement = { delivery, next: { status: 'dead' }, attempt } as const;
  assert.deepEqual(await database.transaction((tx) => queue.settle(tx, [settlement])), [false]);
}

import assert from 'node:assert/strict';
import type { Database } from '../../src/db/database.ts';
import {
  type Claim,
  type ClaimedDelivery,
  claimDue,
  handBack,
  settleDelivery,
} from '../../src/webhooks/claims.store.ts';
import { type Delivery, findDelivery } from '../../src/webhooks/deliveries.store.ts';
import type { NextState } from '../../src/webhooks/delivery.ts';
import type { Webhook } from '../../src/webhooks/webhook.ts';
import { NOW, storeDelivery, storeWebhook } from './rows.ts';

export const LEASE_UNTIL = NOW + 15_000;

/** A webhook, and what is done to its deliveries, each time in a transaction of its own. */
export async function claimScene(database: Database, changes: Partial<Webhook> = {}) {
  const { id: webhookId } = await storeWebhook(database, changes);
  const claim = (options: Partial<Claim> = {}): Promise<ClaimedDelivery[]> =>
    database.transaction((tx) =>
      claimDue(tx, { webhookId, now: NOW, leaseUntil: LEASE_UNTIL, limit: 10, ...options }),
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
    settle: (claimed: ClaimedDelivery, next: NextState) =>
      database.transaction((tx) => settleDelivery(tx, claimed, next)),
    giveBack: (claimed: Delivery, now: number) => database.transaction((tx) => handBack(tx, claimed, now)),
    read: ({ id }: Pick<Delivery, 'id'>) => findDelivery(database.reader, { webhookId, id }),
  };
}

const first = <Item>([item]: readonly Item[]): Item => item ?? assert.fail('nothing was due');

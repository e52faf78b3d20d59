import type { Clock } from '../clock.ts';
import type { Database } from '../db/database.ts';
import { inSteps } from '../db/in-steps.ts';
import type { Backlogs } from './backlog.ts';
import type { FailureReason } from './delivery.ts';
import { countBacklogs, deleteOldDeliveries, deleteOldEvents, failWaiting } from './upkeep.store.ts';
import { deleteWebhook, listDeleted, listDisabledSince } from './webhooks.store.ts';

interface Deps {
  database: Database;
  clock: Clock;
}

const HOUR_MILLISECONDS = 3_600_000;
/** How long deliveries wait for an inactive webhook to come back. */
const HELD_MILLISECONDS = 72 * HOUR_MILLISECONDS;
/** How long events, deliveries and their attempts are kept. */
const HISTORY_MILLISECONDS = 30 * 24 * HOUR_MILLISECONDS;

/** Ends what waits for webhooks that are deleted or were inactive for too long, and forgets old history. */
export async function keepUp(deps: Deps): Promise<void> {
  const { database, clock } = deps;
  const now = clock.now();
  for (const id of await listDeleted(database.reader)) {
    await endWaiting(deps, id, 'webhook_deleted');
    await database.transaction((tx) => deleteWebhook(tx, id));
  }
  for (const id of await listDisabledSince(database.reader, now - HELD_MILLISECONDS)) {
    await endWaiting(deps, id, 'webhook_disabled');
  }
  const before = now - HISTORY_MILLISECONDS;
  await inSteps(database, (tx, limit) => deleteOldDeliveries(tx, before, limit));
  await inSteps(database, (tx, limit) => deleteOldEvents(tx, before, limit));
}

/** How much waits for whom: for the metrics, and for the outbox to know when it is too much. */
export async function recountBacklogs(deps: { database: Database; backlogs: Backlogs }): Promise<void> {
  deps.backlogs.update(await countBacklogs(deps.database.reader));
}

function endWaiting({ database }: Deps, webhookId: string, reason: FailureReason): Promise<void> {
  return inSteps(database, (tx, limit) => failWaiting(tx, { webhookId, reason, limit }));
}

import { SERVICE } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Clock } from '../clock.ts';
import type { Queries } from '../db/database.ts';
import type { Outbox } from '../events/outbox.ts';
import type { FinishedAttempt } from './attempt.ts';
import type { QueueStore, Settlement } from './queue.store.ts';
import { isGivenUp } from './webhook.ts';
import { subjectOf, targetOf } from './webhooks.service.ts';
import { countFailures, deactivateWebhook } from './webhooks.store.ts';

export interface SettleDeps {
  clock: Clock;
  queue: QueueStore;
  outbox: Outbox;
  audit: AuditLog;
}

const SUCCESS_STEP_MILLISECONDS = 60_000;

/**
 * Writes down what came of attempts: the history, the state of their deliveries and the health of their webhooks. True
 * where a webhook was deactivated by it, of which the outbox must hear after the commit.
 */
export async function settle(
  deps: SettleDeps,
  tx: Queries,
  finished: readonly FinishedAttempt[],
): Promise<boolean> {
  const { queue, clock } = deps;
  const areOurs = await queue.settle(tx, finished.map(toSettlement));
  const ours = finished.filter((_, index) => areOurs[index]);
  const now = clock.now();
  const webhookIds = [...new Set(ours.filter(isSuccess).map(({ delivery }) => delivery.webhookId))].sort();
  if (webhookIds.length > 0) {
    await queue.noteSuccesses(tx, { webhookIds, now, notSince: now - SUCCESS_STEP_MILLISECONDS });
  }
  let hasDeactivated = false;
  for (const [webhookId, failures] of failuresByWebhook(ours)) {
    hasDeactivated = (await noteFailures(deps, tx, webhookId, failures)) || hasDeactivated;
  }
  return hasDeactivated;
}

function toSettlement({ delivery, sent, next }: FinishedAttempt): Settlement {
  if (sent === null) return { delivery, next, attempt: null };
  const { durationMs, statusCode, error, responseStart } = sent.exchange;
  const attempt = {
    deliveryId: delivery.id,
    attempt: delivery.attempts,
    startedAt: sent.startedAt,
    durationMs,
    statusCode,
    error,
    responseStart,
  };
  return { delivery, next, attempt };
}

const isSuccess = ({ next }: FinishedAttempt): boolean => next.status === 'delivered';

interface Failures {
  attempts: number;
  deaths: number;
  isGone: boolean;
}

/** Those since the last success, in the order of the identifiers, in which everybody takes the rows. */
function failuresByWebhook(finished: readonly FinishedAttempt[]): [string, Failures][] {
  const failures = new Map<string, Failures>();
  for (const attempt of finished) {
    const { webhookId } = attempt.delivery;
    const { next } = attempt;
    const before = failures.get(webhookId) ?? { attempts: 0, deaths: 0, isGone: false };
    const known = isSuccess(attempt) ? { ...before, attempts: 0, deaths: 0 } : before;
    failures.set(webhookId, {
      attempts: known.attempts + (isSuccess(attempt) ? 0 : 1),
      deaths: known.deaths + (next.status === 'dead' ? 1 : 0),
      isGone: known.isGone || (next.status === 'failed' && next.reason === 'gone'),
    });
  }
  return [...failures].filter(([, { attempts, isGone }]) => attempts > 0 || isGone).sort(byId);
}

const byId = ([a]: [string, Failures], [b]: [string, Failures]): number => (a < b ? -1 : 1);

/** What the outcomes say of the receiver; true where nothing more is sent to it from now on. */
async function noteFailures(
  { clock, outbox, audit }: SettleDeps,
  tx: Queries,
  id: string,
  { attempts, deaths, isGone }: Failures,
): Promise<boolean> {
  const now = clock.now();
  const webhook = await countFailures(tx, { id, attempts, deaths });
  if (webhook === null || !(isGone || isGivenUp(webhook, now))) return false;
  if (!(await deactivateWebhook(tx, id, now))) return false;
  const reason = isGone ? 'gone' : 'failing';
  const data = { ...subjectOf(webhook), changes: ['is_active'], reason } as const;
  await outbox.publish(tx, 'webhook.updated', data, { except: id });
  await audit.record(tx, SERVICE, {
    action: 'webhook.updated',
    target: targetOf(webhook),
    before: { is_active: true, reason: null },
    after: { is_active: false, reason },
  });
  return true;
}

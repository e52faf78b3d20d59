import type { Actor } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Fields, Target } from '../audit/entry.ts';
import { type Clock, toTimestamp } from '../clock.ts';
import type { Database, Queries } from '../db/database.ts';
import { type MasterKey, seal } from '../encryption.ts';
import { notFound } from '../errors.ts';
import { changedNames } from '../events/changes.ts';
import type { Outbox } from '../events/outbox.ts';
import type { Ids } from '../ids.ts';
import { secretContext, type Webhook } from './webhook.ts';
import { toWebhookView } from './webhooks.schema.ts';
import { findWebhook, insertWebhook, markDeleted, updateWebhook } from './webhooks.store.ts';

export interface WebhooksDeps {
  database: Database;
  clock: Clock;
  ids: Ids;
  outbox: Outbox;
  masterKey: MasterKey;
  audit: AuditLog;
}

export type NewWebhook = Pick<Webhook, 'name' | 'url' | 'events' | 'maxRetries'>;
export type WebhookChanges = Partial<NewWebhook & Pick<Webhook, 'isActive'>>;

export async function createWebhook(
  deps: WebhooksDeps,
  input: NewWebhook,
  by: Actor,
): Promise<{ webhook: Webhook; secret: string }> {
  const { database, clock, ids, outbox, masterKey, audit } = deps;
  const secret = ids.newWebhookSecret();
  const id = ids.newId('webhook');
  const webhook: Webhook = {
    id,
    ...input,
    isActive: true,
    consecutiveFails: 0,
    failingAttempts: 0,
    sealedSecret: seal(masterKey, secret, secretContext(id)),
    previousSecret: null,
    lastSuccessAt: null,
    deactivatedAt: null,
    createdAt: clock.now(),
  };
  await database.audited(async (tx) => {
    // Published first: the new webhook hears of others, not of itself.
    await outbox.publish(tx, 'webhook.created', subjectOf(webhook));
    await insertWebhook(tx, webhook);
    await audit.record(tx, by, {
      action: 'webhook.created',
      target: targetOf(webhook),
      after: audited(webhook),
    });
  });
  await outbox.reload(database.reader);
  return { webhook, secret };
}

export async function changeWebhook(
  deps: WebhooksDeps,
  id: string,
  changes: WebhookChanges,
  by: Actor,
): Promise<Webhook> {
  const { database, outbox, clock, audit } = deps;
  const webhook = await database.audited(async (tx) => {
    const before = await requireWebhook(tx, id);
    const after = { ...before, ...changes, ...activity(before, changes, clock.now()) };
    await updateWebhook(tx, after);
    // What was held while it was inactive goes on.
    if (after.isActive) outbox.noteNews(tx);
    const names = changedNames(before, after, CHANGEABLE);
    if (names.length > 0) {
      await outbox.publish(tx, 'webhook.updated', { ...subjectOf(after), changes: names }, { except: id });
    }
    const states = { before: audited(before), after: audited(after) };
    await audit.record(tx, by, { action: 'webhook.updated', target: targetOf(after), ...states });
    return after;
  });
  await outbox.reload(database.reader);
  return webhook;
}

export async function removeWebhook(deps: WebhooksDeps, id: string, by: Actor): Promise<void> {
  const { database, outbox, clock, audit } = deps;
  await database.audited(async (tx) => {
    const webhook = await requireWebhook(tx, id);
    await markDeleted(tx, id, clock.now());
    await outbox.publish(tx, 'webhook.deleted', subjectOf(webhook));
    await audit.record(tx, by, {
      action: 'webhook.deleted',
      target: targetOf(webhook),
      before: audited(webhook),
    });
  });
  await outbox.reload(database.reader);
}

/** For how long the secret before signs beside the new one. */
const OVERLAP_MILLISECONDS = 24 * 3_600_000;

export async function rotateWebhookSecret(
  deps: WebhooksDeps,
  id: string,
  by: Actor,
): Promise<{ secret: string; previousSecretExpiresAt: number }> {
  const { database, clock, ids, masterKey, audit } = deps;
  const secret = ids.newWebhookSecret();
  return database.audited(async (tx) => {
    const webhook = await requireWebhook(tx, id);
    const expiresAt = clock.now() + OVERLAP_MILLISECONDS;
    await updateWebhook(tx, {
      ...webhook,
      sealedSecret: seal(masterKey, secret, secretContext(id)),
      previousSecret: { sealed: webhook.sealedSecret, expiresAt },
    });
    await deps.outbox.publish(
      tx,
      'webhook.updated',
      { ...subjectOf(webhook), changes: ['secret'] },
      { except: id },
    );
    await audit.record(tx, by, {
      action: 'webhook.secret_rotated',
      target: targetOf(webhook),
      after: { previous_secret_expires_at: toTimestamp(expiresAt) },
    });
    return { secret, previousSecretExpiresAt: expiresAt };
  });
}

export async function requireWebhook(db: Queries, id: string): Promise<Webhook> {
  const webhook = await findWebhook(db, id);
  if (webhook === null) throw notFound('webhook');
  return webhook;
}

/** Activating a webhook gives it a new start; deactivating it starts the time for which its deliveries wait. */
function activity(before: Webhook, changes: WebhookChanges, now: number): Partial<Webhook> {
  if (changes.isActive === undefined || changes.isActive === before.isActive) return {};
  return changes.isActive
    ? { deactivatedAt: null, consecutiveFails: 0, failingAttempts: 0, lastSuccessAt: now }
    : { deactivatedAt: now };
}

export const targetOf = ({ id, name }: Webhook): Target => ({ kind: 'webhook', id, name });

/** Counters are no part of a change. */
function audited(webhook: Webhook): Fields {
  const { id, consecutive_fails, ...fields } = toWebhookView(webhook);
  return fields;
}

export const subjectOf = (webhook: Webhook) => ({ webhook_id: webhook.id, webhook_name: webhook.name });

const CHANGEABLE = [
  ['name', 'name'],
  ['url', 'url'],
  ['events', 'events'],
  ['isActive', 'is_active'],
  ['maxRetries', 'max_retries'],
] as const;

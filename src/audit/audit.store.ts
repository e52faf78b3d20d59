import { type Selectable, sql } from 'kysely';
import type { Queries, Tables } from '../db/database.ts';
import type { ActorKind } from './actor.ts';
import { BEGINNING, type ChainEnd, type Link } from './chain.ts';
import type { AuditAction, AuditEntry, Target } from './entry.ts';

type Row = Selectable<Tables['audit_entries']>;

/**
 * Takes the next `count` positions and answers the entry before them. The row of the head is locked from here on: on a
 * server, two writers come one after the other.
 */
export async function reservePositions(tx: Queries, count: number): Promise<Link> {
  const row = await tx
    .insertInto('audit_chain')
    .values({ name: 'head', position: count, hash: BEGINNING.hash, seal: '' })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet({ position: sql<number>`audit_chain.position + ${count}` }),
    )
    .returning(['position', 'hash'])
    .executeTakeFirstOrThrow();
  return { position: row.position - count, hash: row.hash };
}

export async function insertEntries(tx: Queries, entries: readonly AuditEntry[]): Promise<void> {
  // One by one: a text for each number of rows would be a statement of its own to keep, here and on the server.
  for (const entry of entries) await tx.insertInto('audit_entries').values(toRow(entry)).execute();
}

export async function writeEnd(tx: Queries, name: ChainEnd, link: Link, seal: string): Promise<void> {
  const { position, hash } = link;
  await tx
    .insertInto('audit_chain')
    .values({ name, position, hash, seal })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ position, hash, seal }))
    .execute();
}

/** Null where nothing was ever written there. */
export async function findEnd(db: Queries, name: ChainEnd): Promise<(Link & { seal: string }) | null> {
  const row = await db
    .selectFrom('audit_chain')
    .select(['position', 'hash', 'seal'])
    .where('name', '=', name)
    .executeTakeFirst();
  return row ?? null;
}

/** Oldest first, those after a position. */
export async function listEntriesAfter(db: Queries, position: number, limit: number): Promise<AuditEntry[]> {
  const rows = await db
    .selectFrom('audit_entries')
    .selectAll()
    .where('position', '>', position)
    .orderBy('position')
    .limit(limit)
    .execute();
  return rows.map(toEntry);
}

export async function hasEntryUpTo(db: Queries, position: number): Promise<boolean> {
  const row = await db
    .selectFrom('audit_entries')
    .select('position')
    .where('position', '<=', position)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function deleteEntriesUpTo(tx: Queries, position: number): Promise<void> {
  await tx.deleteFrom('audit_entries').where('position', '<=', position).execute();
}

export interface AuditFilter {
  actorId?: string;
  action?: string;
  targetId?: string;
  organizationId?: string;
  since?: number;
  until?: number;
}

/** At most `limit + 1` entries, newest first; those below the cursor, where there is one. */
export async function listEntries(
  db: Queries,
  filter: AuditFilter,
  page: { limit: number; below: number | null },
): Promise<AuditEntry[]> {
  let query = db
    .selectFrom('audit_entries')
    .selectAll()
    .orderBy('position', 'desc')
    .limit(page.limit + 1);
  if (page.below !== null) query = query.where('position', '<', page.below);
  if (filter.actorId !== undefined) query = query.where('actor_id', '=', filter.actorId);
  if (filter.action !== undefined) query = query.where('action', '=', filter.action);
  if (filter.targetId !== undefined) query = query.where('target_id', '=', filter.targetId);
  if (filter.organizationId !== undefined) query = query.where('organization_id', '=', filter.organizationId);
  if (filter.since !== undefined) query = query.where('created_at', '>=', filter.since);
  if (filter.until !== undefined) query = query.where('created_at', '<', filter.until);
  return (await query.execute()).map(toEntry);
}

function toEntry(row: Row): AuditEntry {
  return {
    position: row.position,
    createdAt: row.created_at,
    actor: {
      kind: row.actor_kind as ActorKind,
      id: row.actor_id,
      name: row.actor_name,
      requestId: row.request_id,
      address: row.address,
    },
    action: row.action as AuditAction,
    target: { kind: row.target_kind as Target['kind'], id: row.target_id, name: row.target_name },
    organizationId: row.organization_id,
    before: row.fields_before,
    after: row.fields_after,
    previousHash: row.previous_hash,
    hash: row.hash,
  };
}

function toRow({ actor, target, ...entry }: AuditEntry): Row {
  return {
    position: entry.position,
    created_at: entry.createdAt,
    actor_kind: actor.kind,
    actor_id: actor.id,
    actor_name: actor.name,
    action: entry.action,
    target_kind: target.kind,
    target_id: target.id,
    target_name: target.name,
    organization_id: entry.organizationId,
    request_id: actor.requestId,
    address: actor.address,
    fields_before: entry.before,
    fields_after: entry.after,
    previous_hash: entry.previousHash,
    hash: entry.hash,
  };
}

import type { Selectable } from 'kysely';
import type { Queries, Tables } from '../db/database.ts';
import type { SecretDigest } from '../ids.ts';
import type { Page } from '../schema.ts';
import type { Administrator } from './administrator.ts';
import { findAdministrator } from './administrators.store.ts';
import type { ApiKey } from './api-key.ts';

export async function insertApiKey(tx: Queries, key: ApiKey, digest: SecretDigest): Promise<void> {
  await tx
    .insertInto('administrator_keys')
    .values({
      id: key.id,
      administrator_id: key.administratorId,
      name: key.name,
      digest,
      prefix: key.prefix,
      role: key.role,
      expires_at: key.expiresAt,
      last_used_at: key.lastUsedAt,
      created_at: key.createdAt,
    })
    .execute();
}

/** The key with this digest, expired or not, and whose it is. */
export async function findApiKey(
  db: Queries,
  digest: SecretDigest,
): Promise<{ key: ApiKey; administrator: Administrator } | null> {
  const row = await db
    .selectFrom('administrator_keys')
    .selectAll()
    .where('digest', '=', digest)
    .executeTakeFirst();
  if (row === undefined) return null;
  const administrator = await findAdministrator(db, { id: row.administrator_id });
  return administrator === null ? null : { key: toApiKey(row), administrator };
}

/** At most `page.limit + 1` keys, newest first. */
export async function listApiKeys(db: Queries, administratorId: string, page: Page): Promise<ApiKey[]> {
  let query = db
    .selectFrom('administrator_keys')
    .selectAll()
    .where('administrator_id', '=', administratorId)
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (page.cursor !== null) query = query.where('id', '<', page.cursor);
  return (await query.execute()).map(toApiKey);
}

/** Null where the administrator has no such key. */
export async function deleteApiKey(
  tx: Queries,
  key: { administratorId: string; id: string },
): Promise<ApiKey | null> {
  const row = await tx
    .deleteFrom('administrator_keys')
    .where('id', '=', key.id)
    .where('administrator_id', '=', key.administratorId)
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : toApiKey(row);
}

export async function deleteApiKeysOf(tx: Queries, administratorId: string): Promise<ApiKey[]> {
  const rows = await tx
    .deleteFrom('administrator_keys')
    .where('administrator_id', '=', administratorId)
    .returningAll()
    .execute();
  return rows.map(toApiKey);
}

/** Written only where the last use is older than `notSince`, so that reads do not become writes. */
export async function touchApiKey(
  tx: Queries,
  use: { id: string; now: number; notSince: number },
): Promise<void> {
  await tx
    .updateTable('administrator_keys')
    .set({ last_used_at: use.now })
    .where('id', '=', use.id)
    .where((or) => or.or([or('last_used_at', 'is', null), or('last_used_at', '<=', use.notSince)]))
    .execute();
}

function toApiKey(row: Selectable<Tables['administrator_keys']>): ApiKey {
  return {
    id: row.id,
    administratorId: row.administrator_id,
    name: row.name,
    prefix: row.prefix,
    role: row.role,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    createdAt: row.created_at,
  };
}

import type { Selectable } from 'kysely';
import type { Queries, Tables } from '../db/database.ts';
import type { Page } from '../schema.ts';
import type { Administrator, AdministratorRef } from './administrator.ts';

/** Rejects with `UniqueViolation` where the e-mail address is taken. */
export async function insertAdministrator(tx: Queries, administrator: Administrator): Promise<void> {
  await tx.insertInto('administrators').values(toRow(administrator)).execute();
}

export async function findAdministrator(db: Queries, ref: AdministratorRef): Promise<Administrator | null> {
  const all = db.selectFrom('administrators').selectAll();
  const one = 'id' in ref ? all.where('id', '=', ref.id) : all.where('email', '=', ref.email.toLowerCase());
  const row = await one.executeTakeFirst();
  return row === undefined ? null : toAdministrator(row);
}

/** In the order in which they were made. */
export async function listAdministrators(db: Queries): Promise<Administrator[]> {
  const rows = await db.selectFrom('administrators').selectAll().orderBy('id').execute();
  return rows.map(toAdministrator);
}

/** At most `page.limit + 1` administrators, newest first. */
export async function pageAdministrators(db: Queries, page: Page): Promise<Administrator[]> {
  let query = db
    .selectFrom('administrators')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (page.cursor !== null) query = query.where('id', '<', page.cursor);
  return (await query.execute()).map(toAdministrator);
}

/** How many may do everything, everywhere, besides the one with this id. */
export async function countOtherOwners(tx: Queries, id: string): Promise<number> {
  const { count } = await tx
    .selectFrom('administrators')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('role', '=', 'owner')
    .where('organization_id', 'is', null)
    .where('id', '<>', id)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Rejects with `UniqueViolation` where the new e-mail address is taken. */
export async function updateAdministrator(tx: Queries, administrator: Administrator): Promise<void> {
  const { email, password_hash, role, organization_id } = toRow(administrator);
  await tx
    .updateTable('administrators')
    .set({ email, password_hash, role, organization_id })
    .where('id', '=', administrator.id)
    .execute();
}

/** Their keys go with them. */
export async function deleteAdministrator(tx: Queries, id: string): Promise<void> {
  await tx.deleteFrom('administrators').where('id', '=', id).execute();
}

/** Those who are bound to an organization, with their keys. */
export async function deleteAdministratorsOf(tx: Queries, organizationId: string): Promise<Administrator[]> {
  const rows = await tx
    .deleteFrom('administrators')
    .where('organization_id', '=', organizationId)
    .returningAll()
    .execute();
  return rows.map(toAdministrator);
}

/** The one that was made first; null where there is none. */
export async function findFirstAdministrator(db: Queries): Promise<string | null> {
  const row = await db.selectFrom('administrators').select('email').orderBy('id').executeTakeFirst();
  return row?.email ?? null;
}

export function toAdministrator(row: Selectable<Tables['administrators']>): Administrator {
  return {
    id: row.id,
    email: row.email,
    passwordHash: row.password_hash,
    role: row.role,
    organizationId: row.organization_id,
    createdAt: row.created_at,
  };
}

function toRow(administrator: Administrator): Selectable<Tables['administrators']> {
  return {
    id: administrator.id,
    email: administrator.email,
    password_hash: administrator.passwordHash,
    role: administrator.role,
    organization_id: administrator.organizationId,
    created_at: administrator.createdAt,
  };
}

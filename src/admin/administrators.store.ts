import type { Selectable } from 'kysely';
import type { Queries, Tables } from '../db/database.ts';
import type { Administrator } from './administrator.ts';

export async function insertAdministrator(tx: Queries, administrator: Administrator): Promise<void> {
  await tx
    .insertInto('administrators')
    .values({
      id: administrator.id,
      email: administrator.email,
      password_hash: administrator.passwordHash,
      created_at: administrator.createdAt,
    })
    .execute();
}

export async function findAdministrator(db: Queries, email: string): Promise<Administrator | null> {
  const row = await db
    .selectFrom('administrators')
    .selectAll()
    .where('email', '=', email.toLowerCase())
    .executeTakeFirst();
  return row === undefined ? null : toAdministrator(row);
}

/** In the order in which they were made. */
export async function listAdministrators(db: Queries): Promise<Administrator[]> {
  const rows = await db.selectFrom('administrators').selectAll().orderBy('id').execute();
  return rows.map(toAdministrator);
}

/** False where there is no such administrator. */
export async function updatePasswordHash(tx: Queries, email: string, passwordHash: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('administrators')
    .set({ password_hash: passwordHash })
    .where('email', '=', email.toLowerCase())
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function deleteAdministrator(tx: Queries, id: string): Promise<void> {
  await tx.deleteFrom('administrators').where('id', '=', id).execute();
}

/** The one that was made first; null where there is none. */
export async function findFirstAdministrator(db: Queries): Promise<string | null> {
  const row = await db.selectFrom('administrators').select('email').orderBy('id').executeTakeFirst();
  return row?.email ?? null;
}

function toAdministrator(row: Selectable<Tables['administrators']>): Administrator {
  return { id: row.id, email: row.email, passwordHash: row.password_hash, createdAt: row.created_at };
}

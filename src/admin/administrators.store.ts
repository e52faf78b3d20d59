import type { Queries } from '../db/database.ts';
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
  if (row === undefined) return null;
  return { id: row.id, email: row.email, passwordHash: row.password_hash, createdAt: row.created_at };
}

/** The one that was made first; null where there is none. */
export async function findFirstAdministrator(db: Queries): Promise<string | null> {
  const row = await db.selectFrom('administrators').select('email').orderBy('id').executeTakeFirst();
  return row?.email ?? null;
}

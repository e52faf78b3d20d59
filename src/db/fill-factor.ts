import { type Kysely, PostgresAdapter, sql } from 'kysely';

/**
 * Leaves room in the pages of a table, in percent of them, so that a row that changes stays where it is and no index
 * has to follow it. A matter of PostgreSQL alone, which writes a changed row anew.
 */
export async function setFillFactor(db: Kysely<unknown>, table: string, percent: number): Promise<void> {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return;
  await sql`alter table ${sql.table(table)} set (fillfactor = ${sql.lit(percent)})`.execute(db);
}

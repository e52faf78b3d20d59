import { PostgresAdapter, type RawBuilder, sql } from 'kysely';
import type { Queries } from './database.ts';

/**
 * A text column in lower case, letters of every language included. PostgreSQL’s `lower` goes by the collation, which is
 * bytewise for our columns and then knows ASCII alone; SQLite’s is replaced as it is opened.
 */
export function lowerCase(db: Queries, column: string): RawBuilder<string> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  return isPostgres ? sql`lower(${sql.ref(column)} collate "und-x-icu")` : sql`lower(${sql.ref(column)})`;
}

import { existsSync } from 'node:fs';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { allMigrations, migrate, pendingMigrations } from '../db/migrate.ts';
import { SqliteDatabase } from '../db/sqlite.ts';
import { CommandFailure } from './failure.ts';

/** Opens the configured database beside whatever serves it. Its tables must be those of this version. */
export async function withDatabase<T>(config: Config, use: (database: Database) => Promise<T>): Promise<T> {
  return withOpened(await openBeside(config), async (database) => {
    const pending = await pendingMigrations(database.reader);
    if (pending.length === 0) return use(database);
    throw new CommandFailure(
      'migrations_pending',
      'The tables are not up to date. Run "signet migrate" first.',
    );
  });
}

/** What the database lacks; all there is where there is no database yet. */
export async function findPending(config: Config): Promise<string[]> {
  const { database } = config;
  if (database.kind === 'sqlite' && !existsSync(database.path)) return allMigrations;
  return withOpened(await openBeside(config), ({ reader }) => pendingMigrations(reader));
}

/** Makes the database where there is none, and answers what it applied. Nobody may use it meanwhile. */
export async function applyMigrations({ database: place }: Config): Promise<string[]> {
  if (place.kind === 'postgres') {
    const { migrateServer } = await import('../db/postgres-open.ts');
    return migrateServer(place);
  }
  return withOpened(new SqliteDatabase(place.path), (database) => database.transaction(migrate));
}

export function existingSqliteFile(path: string): string {
  if (existsSync(path)) return path;
  throw new CommandFailure(
    'no_database',
    `There is no database at ${path}. "signet serve" and "signet migrate" make it.`,
  );
}

async function openBeside({ database }: Config): Promise<Database> {
  if (database.kind === 'postgres') {
    const { connectPostgres } = await import('../db/postgres.ts');
    return connectPostgres(database);
  }
  return new SqliteDatabase(existingSqliteFile(database.path), {}, 'beside');
}

async function withOpened<T>(database: Database, use: (database: Database) => Promise<T>): Promise<T> {
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}

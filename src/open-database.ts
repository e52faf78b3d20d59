import type { Database, Observers } from './db/database.ts';
import type { PostgresOptions } from './db/postgres-url.ts';
import type { TokensStore } from './oauth/tokens.store.ts';
import type { QueueStore } from './webhooks/queue.store.ts';

export type DatabaseConfig = { kind: 'sqlite'; path: string } | ({ kind: 'postgres' } & PostgresOptions);

export interface OpenedDatabase {
  database: Database;
  /** The hot paths on the same database. */
  tokensStore: TokensStore;
  queue: QueueStore;
  /** Whether other processes may work on the same database. */
  isShared: boolean;
}

/** Opens what the configuration names, its tables up to date. What the other database needs is not loaded. */
export function openDatabase(config: DatabaseConfig, observers: Observers = {}): Promise<OpenedDatabase> {
  return config.kind === 'sqlite' ? sqlite(config.path, observers) : postgres(config, observers);
}

async function sqlite(path: string, observers: Observers): Promise<OpenedDatabase> {
  const { openSqlite } = await import('./db/sqlite.ts');
  const { SqliteTokensStore } = await import('./oauth/tokens.store.sqlite.ts');
  const { SqliteQueueStore } = await import('./webhooks/queue.store.sqlite.ts');
  const database = await openSqlite(path, observers);
  return {
    database,
    tokensStore: new SqliteTokensStore(database),
    queue: new SqliteQueueStore(database),
    isShared: false,
  };
}

async function postgres(options: PostgresOptions, observers: Observers): Promise<OpenedDatabase> {
  const { openPostgres } = await import('./db/postgres.ts');
  const { PostgresTokensStore } = await import('./oauth/tokens.store.postgres.ts');
  const { PostgresQueueStore } = await import('./webhooks/queue.store.postgres.ts');
  const database = await openPostgres(options, observers);
  return {
    database,
    tokensStore: new PostgresTokensStore(database),
    queue: new PostgresQueueStore(),
    isShared: true,
  };
}

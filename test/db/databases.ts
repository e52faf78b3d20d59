import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { openSqlite } from '../../src/db/sqlite.ts';
import { SqliteTokensStore } from '../../src/oauth/tokens.store.sqlite.ts';
import type { TokensStore } from '../../src/oauth/tokens.store.ts';
import { SqliteQueueStore } from '../../src/webhooks/queue.store.sqlite.ts';
import type { QueueStore } from '../../src/webhooks/queue.store.ts';

export interface OpenedDatabase {
  database: Database;
  tokensStore: TokensStore;
  queue: QueueStore;
  close(): Promise<void>;
}

interface TestDatabase {
  name: string;
  /** A new and empty database with its tables. */
  open(): Promise<OpenedDatabase>;
}

/** Each of them must pass the whole conformance suite: the files beside this one that call `onEachDatabase`. */
const databases: readonly TestDatabase[] = [{ name: 'SQLite', open: openTemporarySqlite }];

/** Runs the tests that `define` makes once for each database; they share one, opened before the first of them. */
export function onEachDatabase(define: (opened: () => OpenedDatabase) => void): void {
  for (const { name, open } of databases) {
    describe(name, () => {
      let opened: OpenedDatabase | null = null;
      before(async () => {
        opened = await open();
      });
      after(() => opened?.close());
      define(() => {
        if (opened === null) throw new Error('The database is opened before the first test.');
        return opened;
      });
    });
  }
}

async function openTemporarySqlite(): Promise<OpenedDatabase> {
  const folder = temporaryFolder();
  const database = await openSqlite(join(folder, 'signet.db'));
  return {
    database,
    tokensStore: new SqliteTokensStore(database),
    queue: new SqliteQueueStore(database),
    async close() {
      await database.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'signet-test-'));

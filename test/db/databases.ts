import { rmSync } from 'node:fs';
import { after, before, describe } from 'node:test';
import { toConfig } from '../../src/config.ts';
import type { Database } from '../../src/db/database.ts';
import type { TokensStore } from '../../src/oauth/tokens.store.ts';
import { openDatabase } from '../../src/open-database.ts';
import type { QueueStore } from '../../src/webhooks/queue.store.ts';
import {
  createTestDatabase,
  type DatabaseKind,
  databaseKinds,
  temporaryFolder,
  useDatabase,
} from '../databases.ts';

export interface OpenedDatabase {
  kind: DatabaseKind;
  database: Database;
  tokensStore: TokensStore;
  queue: QueueStore;
  close(): Promise<void>;
}

/** Runs the tests that `define` makes once for each database; they share one, opened before the first of them. */
export function onEachDatabase(define: (opened: () => OpenedDatabase) => void): void {
  for (const kind of databaseKinds) {
    describe(kind, () => {
      let opened: OpenedDatabase | null = null;
      before(async () => {
        useDatabase(kind);
        opened = await openTemporary(kind);
      });
      after(() => opened?.close());
      define(() => {
        if (opened === null) throw new Error('The database is opened before the first test.');
        return opened;
      });
    });
  }
}

async function openTemporary(kind: DatabaseKind): Promise<OpenedDatabase> {
  const folder = temporaryFolder();
  const place = await createTestDatabase(folder);
  const config = toConfig({ SIGNET_DATA_DIR: folder, ...place.env });
  const opened = await openDatabase(config.database);
  return {
    kind,
    ...opened,
    async close() {
      await opened.database.close();
      await place.remove();
      rmSync(folder, { recursive: true });
    },
  };
}

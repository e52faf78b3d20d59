import { after, before, describe } from 'node:test';
import { type CommitObserver, DatabaseUnusable } from '../../src/db/database.ts';
import { openPostgres, type PostgresDatabase } from '../../src/db/postgres.ts';
import { createPostgres, databaseKinds, type TestDatabase } from '../databases.ts';

export interface OpenedPostgres {
  url: string;
  place: TestDatabase;
  database: PostgresDatabase;
}

/** Runs the tests that are about PostgreSQL itself, where this run has it, on one database. */
export function onPostgres(
  define: (opened: () => OpenedPostgres) => void,
  { connections = 10, hasNamedStatements = true, onCommit }: PostgresChoices = {},
): void {
  describe('PostgreSQL', { skip: !databaseKinds.includes('PostgreSQL') }, () => {
    let opened: OpenedPostgres | null = null;
    before(async () => {
      const place = await createPostgres();
      const url = place.env['SIGNET_DATABASE_URL'] ?? '';
      const database = await openPostgres({ url, connections, hasNamedStatements }, { onCommit });
      opened = { url, place, database };
    });
    after(async () => {
      await opened?.database.close();
      await opened?.place.remove();
    });
    define(() => {
      if (opened === null) throw new Error('The database is opened before the first test.');
      return opened;
    });
  });
}

interface PostgresChoices {
  connections?: number;
  hasNamedStatements?: boolean;
  onCommit?: CommitObserver;
}

/** For `assert.rejects`: refused with this sentence, and without the password. */
export const unusable =
  (sentence: RegExp, password = 'for-tests-only') =>
  (error: unknown): boolean =>
    error instanceof DatabaseUnusable && sentence.test(error.message) && !error.message.includes(password);

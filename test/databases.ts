import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { types } from '../src/db/postgres-connection.ts';

export type DatabaseKind = 'SQLite' | 'PostgreSQL';

// `setup.ts` sets both for the processes of the test files.
const { TEST_DATABASES: chosen, TEST_POSTGRES_URL: serverUrl = '' } = process.env;

/** Those that this run is about. A file that is run alone, without the server of `npm test`, has SQLite. */
export const databaseKinds = (chosen ?? 'SQLite').split(',') as DatabaseKind[];

let current = databaseKinds[0] as DatabaseKind;

/** The one that the tests which run now are about. */
export const currentDatabase = (): DatabaseKind => current;

export function useDatabase(kind: DatabaseKind): void {
  current = kind;
}

type Row = Record<string, string | number | null>;

/** A database of one test's own. */
export interface TestDatabase {
  /** The settings by which a service uses it. */
  env: Record<string, string>;
  /** Runs a statement on it, past the service. */
  query(sql: string): Promise<Row[]>;
  remove(): Promise<void>;
}

/**
 * A new one, of the kind that is tested now. Where it is a file, that is `signet.db` in the folder, which whoever uses
 * it first makes; on the server it has its tables, unless it shall be empty.
 */
export async function createTestDatabase(folder: string, { isEmpty = false } = {}): Promise<TestDatabase> {
  return current === 'SQLite' ? sqliteIn(folder) : createPostgres({ isEmpty });
}

function sqliteIn(folder: string): TestDatabase {
  return { env: {}, query: sqliteQuery(join(folder, 'signet.db')), remove: async () => {} };
}

/** Runs statements on a file that a service may have open. */
export function sqliteQuery(path: string): TestDatabase['query'] {
  return async (sql) => {
    const connection = new DatabaseSync(path, { timeout: 5000 });
    try {
      return connection.prepare(sql).all() as Row[];
    } finally {
      connection.close();
    }
  };
}

/** What every other database is a copy of: its tables are there already. */
const TEMPLATE = 'signet_template';

/** A copy of the template, or of an empty database. */
export async function createPostgres({ isEmpty = false } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  // The other strategy writes every page into the log, which costs five times as much.
  await onServer(`create database ${name} template ${isEmpty ? 'template0' : TEMPLATE} strategy file_copy`);
  return {
    env: { SIGNET_DATABASE_URL: postgresUrl(name), SIGNET_MASTER_KEY: MASTER_KEY },
    query: (sql) => onServer(sql, name),
    remove: async () => {
      await onServer(`drop database if exists ${name} with (force)`);
    },
  };
}

const MASTER_KEY = Buffer.alloc(32, 'signet').toString('base64');

export const postgresUrl = (name: string): string => `${serverUrl}/${name}?sslmode=disable`;

export async function createTemplate(fill: (url: string) => Promise<void>): Promise<void> {
  await onServer(`create database ${TEMPLATE}`);
  await fill(postgresUrl(TEMPLATE));
}

async function onServer(sql: string, database = 'postgres'): Promise<Row[]> {
  const client = new pg.Client({ connectionString: postgresUrl(database), types });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'signet-test-'));

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

export type DatabaseKind = 'sqlite' | 'postgres';

/** A database of one test: the settings that make a service use it, and how it goes away. */
export interface TestDatabase {
  env: Record<string, string>;
  remove(): Promise<void>;
}

/** What `npm test` hands on to the processes of the test files; `postgres-server.ts` sets both. */
const { TEST_DATABASES: chosen = '', TEST_POSTGRES_URL: serverUrl = '' } = process.env;

/** Those that this run tests. A file that is run alone, without the server of `npm test`, has SQLite. */
export const databaseKinds: readonly DatabaseKind[] =
  chosen === '' ? ['sqlite'] : (chosen.split(',') as DatabaseKind[]);

let current: DatabaseKind = databaseKinds[0] ?? 'sqlite';

/** The one that the tests which run now are about. */
export const currentDatabase = (): DatabaseKind => current;

export function useDatabase(kind: DatabaseKind): void {
  current = kind;
}

/** A new and empty database of the kind that is tested now, in `folder` where it is a file. */
export async function createTestDatabase(folder: string): Promise<TestDatabase> {
  return current === 'sqlite' ? { env: { SIGNET_DATA_DIR: folder }, remove: async () => {} } : createPostgres(folder);
}

/** The database that every other one is a copy of: its tables are there already. */
export const TEMPLATE = 'signet_template';

export const MASTER_KEY = Buffer.alloc(32, 'signet').toString('base64');

async function createPostgres(folder: string): Promise<TestDatabase> {
  const { url, remove } = await createPostgresDatabase();
  return {
    env: { SIGNET_DATA_DIR: folder, SIGNET_DATABASE_URL: url, SIGNET_MASTER_KEY: MASTER_KEY },
    remove,
  };
}

/** A copy of the template, or of nothing. */
export async function createPostgresDatabase(
  template = TEMPLATE,
): Promise<{ url: string; remove(): Promise<void> }> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onServer(`create database ${name} template ${template}`);
  return {
    url: `${serverUrl}/${name}?sslmode=disable`,
    remove: () => onServer(`drop database if exists ${name} with (force)`),
  };
}

/** Runs a statement as the superuser of the server. */
export async function onServer(sql: string, database = 'postgres'): Promise<void> {
  const client = new pg.Client({ connectionString: `${serverUrl}/${database}` });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'signet-test-'));

export const removeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { copy } from '../../src/cli/copy.ts';
import { toFailure } from '../../src/cli/failure.ts';
import { systemClock } from '../../src/clock.ts';
import { toConfig } from '../../src/config.ts';
import { copyDatabase } from '../../src/db/copy.ts';
import type { CopyTarget } from '../../src/db/copy-end.ts';
import { tablesToCopy } from '../../src/db/copy-tables.ts';
import { openPostgresTarget } from '../../src/db/postgres-copy.ts';
import { openSqlite } from '../../src/db/sqlite.ts';
import { openSqliteTarget } from '../../src/db/sqlite-copy.ts';
import { openMasterKey } from '../../src/master-key.ts';
import { database } from '../../src/settings.ts';
import { createPostgres, sqliteQuery, type TestDatabase, temporaryFolder } from '../databases.ts';

export const folder = temporaryFolder();
const created: TestDatabase[] = [];
let count = 0;
export const newFile = (): string => join(folder, `${count++}.db`);
/** What stands around each file of tests about copies. */
export async function removeCopies(): Promise<void> {
  for (const each of created) await each.remove();
  rmSync(folder, { recursive: true });
}

export const masterKey = Buffer.alloc(32, 'copy').toString('base64');

/** More than a page of attempts, whose texts come from receivers, and one row or two in some other tables. */
const attempts = fc.sample(
  fc.tuple(
    fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    fc.option(fc.string({ unit: 'binary' })),
    fc.option(fc.string({ unit: fc.constantFrom('\0', '\uFFFD', '"', '\\', '{', ',', 'NULL', '💾', '\n') })),
  ),
  1203,
);

async function fill(path: string): Promise<void> {
  const filled = await openSqlite(path);
  const key = toConfig({ SIGNET_MASTER_KEY: masterKey }).masterKey;
  await openMasterKey(filled, { configured: key, path: newFile() });
  await filled.transaction(async (tx) => {
    await tx.insertInto('revoked_tokens').values({ id: 'one', expires_at: 1 }).execute();
    const insert = filled.prepareWrite(
      `insert into delivery_attempts (delivery_id, attempt, started_at, duration_ms, error, response_start)
       values ('d', ?, ?, 7, ?, ?) on conflict do nothing`,
    );
    for (const attempt of attempts) insert.run(...attempt);
  });
  await filled.close();
}

/** A SQLite file that is filled once. */
export const source = newFile();
export const fillSource = (): Promise<void> => fill(source);

export interface Kind {
  name: string;
  newPlace(): Promise<{ place: string; query: TestDatabase['query'] }>;
}

export const kinds: readonly Kind[] = [
  {
    name: 'SQLite',
    async newPlace() {
      const place = newFile();
      return { place, query: sqliteQuery(place) };
    },
  },
  {
    name: 'PostgreSQL',
    async newPlace() {
      const made = await createPostgres({ isEmpty: true });
      created.push(made);
      return { place: made.env['SIGNET_DATABASE_URL'] ?? '', query: made.query };
    },
  },
];

export const copied = (from: string, to: string) => copyDatabase({ from: database(from), to: database(to) });

export async function openTarget(place: string): Promise<CopyTarget> {
  const { kind } = database(place);
  return kind === 'sqlite' ? openSqliteTarget(place) : openPostgresTarget(place, await tablesToCopy());
}

export const run = (from: string, to: string, env: Record<string, string> = {}) =>
  copy(
    { loadConfig: () => toConfig({ SIGNET_MASTER_KEY: masterKey, ...env }), clock: systemClock },
    { from, to },
  );

export async function assertRefused(
  doing: Promise<unknown>,
  expected: { error: string; sentence: RegExp; exitCode?: number },
): Promise<void> {
  const error = await doing.then(
    () => assert.fail('It was not refused.'),
    (reason: unknown) => reason,
  );
  const { code, description, exitCode } = toFailure(error);
  assert.match(description, expected.sentence);
  assert.deepEqual([code, exitCode], [expected.error, expected.exitCode ?? 1]);
  assert.doesNotMatch(description, /for-tests-only/);
}

type Rows = Awaited<ReturnType<TestDatabase['query']>>;

/** As SQLite answers them, rows have no prototype. */
export const plain = (rows: Rows): Rows => rows.map((row) => ({ ...row }));

/** PostgreSQL has no place for NUL. */
export const withoutNul = (row: Rows[number]): Rows[number] =>
  Object.fromEntries(
    Object.entries(row).map(([name, cell]) => [
      name,
      typeof cell === 'string' ? cell.replaceAll('\0', '\uFFFD') : cell,
    ]),
  );

export const ROWS = 'select * from delivery_attempts order by id';

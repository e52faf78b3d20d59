import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { depsOfProcess } from '../../src/cli/command.ts';
import { copy } from '../../src/cli/copy.ts';
import { toFailure } from '../../src/cli/failure.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import { systemClock } from '../../src/clock.ts';
import { toConfig } from '../../src/config.ts';
import { copyDatabase, copyTables } from '../../src/db/copy.ts';
import type { CopyTarget } from '../../src/db/copy-end.ts';
import { tablesToCopy } from '../../src/db/copy-tables.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { openPostgresTarget } from '../../src/db/postgres-copy.ts';
import { openSqlite, SqliteDatabase } from '../../src/db/sqlite.ts';
import { openSqliteSource, openSqliteTarget } from '../../src/db/sqlite-copy.ts';
import { openMasterKey } from '../../src/master-key.ts';
import { database } from '../../src/settings.ts';
import {
  createPostgres,
  databaseKinds,
  sqliteQuery,
  type TestDatabase,
  temporaryFolder,
} from '../databases.ts';
import { until } from '../webhooks/listener.ts';

const folder = temporaryFolder();
const created: TestDatabase[] = [];
let count = 0;
const newFile = (): string => join(folder, `${count++}.db`);
after(async () => {
  for (const each of created) await each.remove();
  rmSync(folder, { recursive: true });
});

const masterKey = Buffer.alloc(32, 'copy').toString('base64');

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

const source = newFile();
before(() => fill(source));

interface Kind {
  name: string;
  newPlace(): Promise<{ place: string; query: TestDatabase['query'] }>;
}

const kinds: readonly Kind[] = [
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

const copied = (from: string, to: string) => copyDatabase({ from: database(from), to: database(to) });

async function openTarget(place: string): Promise<CopyTarget> {
  const { kind } = database(place);
  return kind === 'sqlite' ? openSqliteTarget(place) : openPostgresTarget(place, await tablesToCopy());
}

const run = (from: string, to: string, env: Record<string, string> = {}) =>
  copy(
    { loadConfig: () => toConfig({ SIGNET_MASTER_KEY: masterKey, ...env }), clock: systemClock },
    { from, to },
  );

async function assertRefused(
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
const plain = (rows: Rows): Rows => rows.map((row) => ({ ...row }));

/** PostgreSQL has no place for NUL. */
const withoutNul = (row: Rows[number]): Rows[number] =>
  Object.fromEntries(
    Object.entries(row).map(([name, cell]) => [
      name,
      typeof cell === 'string' ? cell.replaceAll('\0', '\uFFFD') : cell,
    ]),
  );

const sums = (tables: Awaited<ReturnType<typeof copied>>) =>
  tables.map(({ table, rows, checksum }) => ({ table, rows, checksum }));

const ROWS = 'select * from delivery_attempts order by id';

for (const { name, newPlace } of kinds) {
  describe(name, { skip: !databaseKinds.some((kind) => kind === name) }, () => {
    test('every table that a database has is copied, with all its columns', async () => {
      const { place, query } = await newPlace();
      await copied(source, place);
      const columns = await query(
        name === 'SQLite'
          ? `select m.name as table_name, c.name as column_name from sqlite_schema m, pragma_table_info(m.name) c
             where m.type = 'table' and m.name not like 'sqlite_%'`
          : `select table_name, column_name from information_schema.columns where table_schema = 'public'`,
      );
      const found = columns
        .filter((row) => !String(row['table_name']).startsWith('schema_migrations'))
        .map((row) => `${row['table_name']}.${row['column_name']}`);
      const listed = (await tablesToCopy()).flatMap((table) =>
        table.columns.map((column) => `${table.name}.${column.name}`),
      );
      assert.deepEqual(listed.sort(), found.sort());
      assert.ok(listed.length > 50);
    });

    test('any text and any number arrives, there and back, over more than one page', async () => {
      const [there, back] = [await newPlace(), newFile()];
      const first = await copied(source, there.place);
      const rows = (await sqliteQuery(source)(ROWS)).map(name === 'SQLite' ? (row) => row : withoutNul);
      assert.deepEqual(plain(await there.query(ROWS)), plain(rows));
      assert.deepEqual(sums(await copied(there.place, back)), sums(first));
      assert.deepEqual(plain(await sqliteQuery(back)(ROWS)), plain(rows));
    });

    test('ids continue after the highest one that was copied', async () => {
      const { place, query } = await newPlace();
      await copied(source, place);
      const highest = Number((await query('select max(id) as id from delivery_attempts'))[0]?.['id']);
      const [row] = await query(
        `insert into delivery_attempts (delivery_id, attempt, started_at, duration_ms) values ('new', 1, 1, 1) returning id`,
      );
      assert.equal(row?.['id'], highest + 1);
    });

    test('a byte that differs in the target is found, and the target is left as it was', async () => {
      const { place, query } = await newPlace();
      const target = await openTarget(place);
      const tables = await tablesToCopy();
      const from = await openSqliteSource(source);
      const spoiled: CopyTarget = {
        ...target,
        insert: (table, rows) =>
          target.insert(
            table,
            table.name === 'revoked_tokens' ? rows.map(([id, ...rest]) => [`${id}!`, ...rest]) : rows,
          ),
      };
      await assertRefused(copyTables({ source: from, target: spoiled }, tables), {
        error: 'failed',
        sentence: /^The copy of the table revoked_tokens differs/,
      });
      for (const end of [from, target]) await end.close();
      await copied(source, place);
      assert.deepEqual(plain(await query('select id from revoked_tokens')), [{ id: 'one' }]);
    });

    test('a copy that was killed has left nothing, and the next one succeeds', async () => {
      const { place, query } = await newPlace();
      const program = join(import.meta.dirname, 'killed-copy.ts');
      const { signal, stderr } = spawnSync(process.execPath, [program, source, place], { encoding: 'utf8' });
      assert.equal(signal, 'SIGKILL', stderr);
      await assert.rejects(query('select * from revoked_tokens'), /no such table|does not exist/);
      await copied(source, place);
      assert.equal((await query(ROWS)).length, (await sqliteQuery(source)(ROWS)).length);
    });

    test('a target with rows is refused, and the sentence says in which table', async () => {
      const { place, query } = await newPlace();
      await copied(source, place);
      await query('delete from delivery_attempts where attempt > 0 or attempt <= 0');
      await query('delete from service_metadata');
      await assertRefused(run(source, place), {
        error: 'conflict',
        sentence: /is not empty: there are rows in revoked_tokens\./,
      });
      assert.equal((await query(ROWS)).length, 0);
    });

    test('a source that lacks migrations, or has newer ones, is refused', async () => {
      const [{ place, query }, target] = [await newPlace(), newFile()];
      await copied(source, place);
      await query("insert into schema_migrations (name, timestamp) values ('9999_future', '2030')");
      await assertRefused(run(place, target), { error: 'database_unusable', sentence: /newer version/ });
      await query("delete from schema_migrations where name > '0001_initial'");
      await assertRefused(run(place, target), {
        error: 'migrations_pending',
        sentence: /0002_delivery_engine.+ missing\. Run "signet migrate" there first/,
      });
    });

    test('the target must be another database than the source', async () => {
      const { place } = await newPlace();
      await copied(source, place);
      await assertRefused(run(place, place), { error: 'conflict', sentence: /FROM and TO are the same/ });
    });

    test('a master key that does not open the source is told before anything is copied', async () => {
      const [{ place }, target] = [await newPlace(), newFile()];
      await copied(source, place);
      const env = { SIGNET_MASTER_KEY: Buffer.alloc(32, 'wrong').toString('base64') };
      const refused = { error: 'database_unusable', sentence: /master key is not the one/ };
      await assertRefused(run(place, target, env), refused);
      await copied(place, target);
    });

    test('what is written after the copy began is not in it', async () => {
      const [{ place, query }, target] = [await newPlace(), newFile()];
      await copied(source, place);
      const insert = "insert into revoked_tokens (id, expires_at) values ('late', 1)";
      await copyDatabase({ from: database(place), to: database(target) }, async () => {
        await query(insert);
      });
      const ids = 'select id from revoked_tokens order by id';
      assert.deepEqual(plain(await sqliteQuery(target)(ids)), [{ id: 'one' }]);
      assert.equal((await query(ids)).length, 2);
    });
  });
}

test('a service that runs keeps its SQLite file to itself: nothing is copied from it, nor to it', async () => {
  const path = newFile();
  const serving = new SqliteDatabase(path);
  const refused = { error: 'database_unusable', sentence: /Another process uses the database file/ };
  for (const [from, to] of [
    [path, newFile()],
    [source, path],
  ] as const) {
    await assertRefused(run(from, to), refused);
  }
  await serving.close();
});

test('no service can start on a SQLite file while it is copied', async () => {
  await copyDatabase({ from: database(source), to: database(newFile()) }, async () => {
    assert.throws(() => new SqliteDatabase(source), /Another process uses/);
  });
});

test('one file under two names is one database', async () => {
  const link = newFile();
  symlinkSync(source, link);
  await assertRefused(run(source, link), { error: 'conflict', sentence: /are the same database/ });
});

test('a service that starts on a PostgreSQL database waits for the end of a copy into it', async (t) => {
  const postgres = kinds[1] as Kind;
  if (!databaseKinds.includes('PostgreSQL')) return t.skip();
  const { place, query } = await postgres.newPlace();
  const target = await openTarget(place);
  let isOpen = false;
  const starting = openPostgres({ url: place, connections: 1, hasNamedStatements: true }).then((opened) => {
    isOpen = true;
    return opened;
  });
  const waiting =
    "select 1 from pg_stat_activity where datname = current_database() and wait_event = 'advisory'";
  await until('a service that waits', async () => (await query(waiting)).length === 1);
  assert.equal(isOpen, false);
  await target.commit();
  await (await starting).close();
  await target.close();
});

test('the rows that lose a NUL on PostgreSQL are counted', async (t) => {
  const postgres = kinds[1] as Kind;
  if (!databaseKinds.includes('PostgreSQL')) return t.skip();
  const { place } = await postgres.newPlace();
  const { text, json } = await run(source, place);
  const rows = await sqliteQuery(source)(ROWS);
  const affected = rows.filter((row) => JSON.stringify(row) !== JSON.stringify(withoutNul(row))).length;
  assert.ok(affected > 0);
  assert.ok(text.includes(`\n${affected} rows had a NUL character, which PostgreSQL cannot keep`));
  const { tables } = json as { tables: { table: string; rows_with_nul_replaced: number }[] };
  const table = tables.find((each) => each.table === 'delivery_attempts');
  assert.equal(table?.rows_with_nul_replaced, affected);
});

test('the key in the folder of the source is checked, and shown as the setting that it becomes', async () => {
  const data = join(folder, 'data');
  mkdirSync(data);
  const file = join(data, 'master.key');
  const path = join(data, 'signet.db');
  await copied(source, path);
  writeFileSync(file, `${Buffer.alloc(32, 'wrong').toString('base64')}\n`);
  const withoutKey = { loadConfig: () => toConfig({}), clock: systemClock };
  const refused = { error: 'database_unusable', sentence: /master key is not the one/ };
  await assertRefused(copy(withoutKey, { from: path, to: newFile() }), refused);
  writeFileSync(file, `${masterKey}\n`);
  const { text } = await copy(withoutKey, { from: path, to: newFile() });
  assert.ok(text.includes(`SIGNET_MASTER_KEY  "$(cat '${file}')"`));
});

for (const [what, from, to, sentence] of [
  ['a URL of another database', 'mysql://u:secret@h/d', 'x.db', /^FROM must be a path, sqlite:PATH/],
  ['a URL without a database', 'x.db', 'postgres://u:secret@h', /^TO must be postgres:/],
] as const) {
  test(`wrong usage: ${what}, which is not repeated`, () =>
    assertRefused(run(from, to), { error: 'invalid_usage', sentence, exitCode: 2 }));
}

test('wrong usage: a URL too much, whose password is not repeated', async () => {
  let told = '';
  const stderr = new Writable({
    write(chunk, _encoding, done) {
      told += chunk;
      done();
    },
  });
  const given = ['copy', 'a.db', 'b.db', 'postgres://u:secret@h/d'];
  assert.equal(await runCommandLine({ ...depsOfProcess(), stderr }, given), 2);
  assert.match(told, /^Too many arguments .+ postgres:\/\/\*\*\*@h\/d\./);
});

test('a source that is not there is told, and a server that does not answer, without its password', async () => {
  const missing = { error: 'no_database', sentence: /There is no database at/ };
  await assertRefused(run(newFile(), newFile()), missing);
  await assertRefused(run(source, 'postgres://u:for-tests-only@127.0.0.1:1/d'), {
    error: 'database_unusable',
    sentence: /^No PostgreSQL server answers at 127\.0\.0\.1:1 .+ or correct TO\.$/,
  });
});

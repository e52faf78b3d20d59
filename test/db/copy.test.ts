import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { copyDatabase, copyTables } from '../../src/db/copy.ts';
import type { CopyTarget } from '../../src/db/copy-end.ts';
import { tablesToCopy } from '../../src/db/copy-tables.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { SqliteDatabase } from '../../src/db/sqlite.ts';
import { openSqliteSource } from '../../src/db/sqlite-copy.ts';
import { database } from '../../src/settings.ts';
import { databaseKinds, sqliteQuery } from '../databases.ts';
import { until } from '../until.ts';
import {
  assertRefused,
  copied,
  fillSource,
  type Kind,
  kinds,
  newFile,
  openTarget,
  plain,
  ROWS,
  removeCopies,
  run,
  source,
  withoutNul,
} from './copies.ts';

after(removeCopies);
before(fillSource);

const sums = (tables: Awaited<ReturnType<typeof copied>>) =>
  tables.map(({ table, rows, checksum }) => ({ table, rows, checksum }));

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

test('no service can start on a SQLite file while it is copied', async () => {
  await copyDatabase({ from: database(source), to: database(newFile()) }, async () => {
    assert.throws(() => new SqliteDatabase(source), /Another process uses/);
  });
});

test('a service that starts on a PostgreSQL database waits for the end of a copy into it', async (t) => {
  const postgres = kinds[1] as Kind;
  if (!databaseKinds.includes('PostgreSQL')) return t.skip('it is about copies into PostgreSQL');
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
  if (!databaseKinds.includes('PostgreSQL')) return t.skip('it is about copies into PostgreSQL');
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

import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { DatabaseUnusable } from '../../src/db/database.ts';
import { openSqlite, type SqliteDatabase } from '../../src/db/sqlite.ts';
import { runChild } from '../child.ts';
import { temporaryFolder } from '../databases.ts';

const folder = temporaryFolder();
const path = join(folder, 'signet.db');
let database: SqliteDatabase;
before(async () => {
  database = await openSqlite(path);
});
after(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});

/** Changes a database that nobody has open. */
function edit(file: string, sql: string): void {
  const connection = new DatabaseSync(file);
  connection.exec(sql);
  connection.close();
}

async function makeDatabase(name: string): Promise<string> {
  const file = join(folder, name);
  await (await openSqlite(file)).close();
  return file;
}

/** The tables and indexes, and which migrations made them. */
function shapeOf(file: string) {
  const connection = new DatabaseSync(file);
  const shape = [
    connection.prepare('select type, name, sql from sqlite_schema order by name').all(),
    connection.prepare('select name, timestamp from schema_migrations').all(),
  ];
  connection.close();
  return shape;
}

test('each connection keeps a log whose flush is left to the group commit, and references', async () => {
  await database.transaction(async () => {
    for (const prepare of [database.prepareRead, database.prepareWrite]) {
      assert.deepEqual({ ...prepare('pragma journal_mode').get() }, { journal_mode: 'wal' });
      assert.deepEqual({ ...prepare('pragma synchronous').get() }, { synchronous: 1 });
      assert.deepEqual({ ...prepare('pragma foreign_keys').get() }, { foreign_keys: 1 });
    }
  });
});

test('the reader cannot write', () => {
  assert.throws(() => database.prepareRead('delete from service_metadata').run(), /readonly/);
});

test('every table of ours is STRICT', () => {
  const tables = database
    .prepareRead(
      "select name, strict from pragma_table_list where schema = 'main' and name not like 'sqlite_%'",
    )
    .all();
  assert.ok(tables.length >= 13);
  for (const { name, strict } of tables) assert.equal(strict, 1, `${name} is not strict`);
});

test('a text in a number’s column is refused', async () => {
  await assert.rejects(
    database.transaction(async () =>
      database.prepareWrite("insert into revoked_tokens (id, expires_at) values ('x', 'soon')").run(),
    ),
  );
});

test('opening a database again changes nothing in it', async () => {
  const file = await makeDatabase('again.db');
  const shape = shapeOf(file);
  await (await openSqlite(file)).close();
  assert.deepEqual(shapeOf(file), shape);
});

test('a database of a newer version is refused with a sentence and left as it is', async () => {
  const file = await makeDatabase('newer.db');
  edit(file, "insert into schema_migrations (name, timestamp) values ('0999_future', '2030-01-01')");
  const shape = shapeOf(file);
  await assert.rejects(openSqlite(file), (error) => {
    assert.ok(error instanceof DatabaseUnusable);
    assert.match(error.message, /newer version of Signet \(it has 0999_future\)\. Run that version/);
    return true;
  });
  assert.deepEqual(shapeOf(file), shape);
});

test('a file that is no database, and a folder, are refused with a sentence', async () => {
  const file = join(folder, 'letter.db');
  writeFileSync(file, 'Dear Sir or Madam, '.repeat(100));
  mkdirSync(join(folder, 'folder.db'));
  for (const name of ['letter.db', 'folder.db']) {
    await assert.rejects(openSqlite(join(folder, name)), (error) => {
      assert.ok(error instanceof DatabaseUnusable);
      assert.match(error.message, /cannot be opened\. See that it is a SQLite database/);
      return true;
    });
  }
});

test('a folder that is missing is made', async () => {
  const deep = join(folder, 'a', 'b', 'signet.db');
  await (await openSqlite(deep)).close();
  await (await openSqlite(deep)).close();
});

test('a second process on the same file is refused with a sentence, and the first goes on', async () => {
  const home = {
    path: folder,
    children: [],
    database: async () => ({ env: {}, query: async () => [], remove: async () => {} }),
    remove: async () => {},
  };
  const { code, stdout, stderr } = await runChild({ folder: home, env: { SIGNET_DATABASE_URL: path } });
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.equal(
    stderr,
    `Another process uses the database file ${path}. Stop it first: one process writes a SQLite file.\n`,
  );
  await database.ping();
});

test('a database that was closed can be opened again at once', async () => {
  const file = await makeDatabase('reopened.db');
  const [first, second] = [await openSqlite(file), openSqlite(file)];
  await assert.rejects(second, /Another process uses/);
  await first.close();
  await (await openSqlite(file)).close();
});

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, test } from 'node:test';
import { adminEnv, type ChildFolder, childFolder, startChild } from '../child.ts';
import { createTestDatabase, currentDatabase } from '../databases.ts';
import { send } from '../harness.ts';
import { assertFails, envIn, signet, signetJson } from './signet.ts';

const folders: ChildFolder[] = [];
after(async () => {
  for (const folder of folders) await folder.remove();
});

/** With a database that nobody has used yet. */
async function newFolder() {
  const folder = childFolder((path) => createTestDatabase(path, { isEmpty: true }));
  folders.push(folder);
  const { query } = await folder.database();
  return { folder, query, env: await envIn(folder) };
}

const applied = /^Applied 0001_initial, 0002_delivery_engine\b/;
const newest = 'select max(name) as name from schema_migrations';
const forgetNewest = "delete from schema_migrations where name >= '0002'";

test('migrate makes the tables, says what it applied, and finds nothing to do after that', async () => {
  const { env, query } = await newFolder();
  const first = await signet(env, 'migrate');
  assert.deepEqual([first.code, first.stderr], [0, '']);
  assert.match(first.stdout, applied);
  assert.deepEqual(await query('select * from agents'), []);
  assert.deepEqual(await signetJson(env, 'migrate'), { applied: [] });
  const again = await signet(env, 'migrate');
  assert.deepEqual([again.code, again.stdout], [0, 'The tables are up to date.\n']);
});

test('migrate --check fails where something is missing, and leaves everything as it is', async () => {
  const { env, folder, query } = await newFolder();
  const sentence = /^Not applied yet: 0001_initial, /;
  await assertFails(env, ['migrate', '--check'], { code: 1, error: 'migrations_pending', sentence });
  assert.deepEqual(readdirSync(folder.path), []);
  if (currentDatabase() === 'PostgreSQL') {
    assert.deepEqual(await query("select * from pg_tables where schemaname = 'public'"), []);
  }
  await signetJson(env, 'migrate');
  assert.deepEqual(await signetJson(env, 'migrate', '--check'), { pending: [] });
});

test('of several that migrate a server at once one applies, and the others find nothing to do', async (t) => {
  if (currentDatabase() === 'SQLite') return t.skip('a file has one user while it is migrated');
  const { env } = await newFolder();
  const ended = await Promise.all([1, 2, 3].map(() => signet(env, 'migrate')));
  assert.deepEqual(
    ended.map(({ code, stderr }) => [code, stderr]),
    Array(3).fill([0, '']),
  );
  const told = ended.map(({ stdout }) => stdout).sort();
  assert.match(told[0] ?? '', applied);
  assert.deepEqual(told.slice(1), Array(2).fill('The tables are up to date.\n'));
});

test('a service serves what migrate and admin add made: the first administrator is theirs, the tables stay', async () => {
  const { env, folder, query } = await newFolder();
  await signetJson(env, 'migrate');
  const email = 'early@signet.test';
  const { password } = await signetJson(env, 'admin', 'add', email, '--generate');
  const child = await startChild({ folder, env: { ...env, ...adminEnv } });
  assert.match(child.output().stdout, /Administrator +early@signet\.test/);
  assert.equal((await send(child.url, 'GET', '/api/agents', { admin: { email, password } })).status, 200);
  assert.equal((await send(child.url, 'GET', '/api/agents', { admin: true })).status, 401);
  assert.deepEqual(await signetJson(env, 'migrate'), { applied: [] });
  assert.deepEqual(await signetJson(env, 'migrate', '--check'), { pending: [] });
  if (currentDatabase() === 'SQLite') {
    await query(forgetNewest);
    const sentence = /Another process uses the database file/;
    await assertFails(env, ['migrate'], { code: 1, error: 'database_unusable', sentence });
  }
  assert.equal((await child.kill('SIGTERM')).code, 0);
});

test('a command that needs newer tables says how to get them, and a newer database is refused', async () => {
  const { env, query } = await newFolder();
  await signetJson(env, 'migrate');
  await query("insert into schema_migrations values ('9999_later', '2030-01-01')");
  const newer = { code: 1, error: 'database_unusable', sentence: /newer version/ };
  for (const given of [['migrate'], ['migrate', '--check'], ['admin', 'list']])
    await assertFails(env, given, newer);
  assert.equal((await query(newest))[0]?.['name'], '9999_later');
  await query(forgetNewest);
  const sentence = /Run "signet migrate" first/;
  await assertFails(env, ['keys', 'list'], { code: 1, error: 'migrations_pending', sentence });
});

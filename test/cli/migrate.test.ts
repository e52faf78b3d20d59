import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { adminEnv, type ChildFolder, childFolder, startChild } from '../child.ts';
import { send } from '../harness.ts';
import { assertFails, signet, signetJson } from './signet.ts';

const folders: ChildFolder[] = [];
after(() => {
  for (const folder of folders) folder.remove();
});

function newFolder(): ChildFolder {
  const folder = childFolder();
  folders.push(folder);
  return folder;
}

function execute({ path }: ChildFolder, sql: string): void {
  using connection = new DatabaseSync(join(path, 'data', 'signet.db'));
  connection.exec(sql);
}

test('migrate makes the tables, says what it applied, and finds nothing to do after that', async () => {
  const folder = newFolder();
  const first = await signet(folder, 'migrate');
  assert.equal(first.code, 0);
  assert.match(first.stdout, /^Applied 0001_initial, /);
  assert.deepEqual(await signetJson(folder, 'migrate'), { applied: [] });
  const again = await signet(folder, 'migrate');
  assert.deepEqual([again.code, again.stdout], [0, 'The tables are up to date.\n']);
});

test('migrate --check fails where something is missing, and leaves everything as it is', async () => {
  const folder = newFolder();
  const sentence = /^Not applied yet: 0001_initial, /;
  await assertFails(folder, ['migrate', '--check'], { code: 1, error: 'migrations_pending', sentence });
  assert.deepEqual(readdirSync(folder.path), []);
  const { applied } = await signetJson(folder, 'migrate');
  assert.equal(applied[0], '0001_initial');
  assert.deepEqual(await signetJson(folder, 'migrate', '--check'), { pending: [] });
});

test('a service serves what migrate made, and migrate changes nothing beside it', async () => {
  const folder = newFolder();
  await signetJson(folder, 'migrate');
  const child = await startChild({ folder, env: adminEnv });
  assert.deepEqual(await signetJson(folder, 'migrate'), { applied: [] });
  assert.deepEqual(await signetJson(folder, 'migrate', '--check'), { pending: [] });
  assert.equal((await send(child.url, 'GET', '/api/agents', { admin: true })).status, 200);
  execute(folder, "delete from schema_migrations where name >= '0002'");
  const sentence = /Another process uses the database file/;
  await assertFails(folder, ['migrate'], { code: 1, error: 'database_unusable', sentence });
  await child.kill('SIGTERM');
});

test('a command that needs newer tables says how to get them, and a newer database is refused', async () => {
  const folder = newFolder();
  await signetJson(folder, 'migrate');
  execute(folder, "insert into schema_migrations values ('9999_later', '2030-01-01')");
  await assertFails(folder, ['migrate'], { code: 1, error: 'database_unusable', sentence: /newer version/ });
  execute(folder, "delete from schema_migrations where name >= '0002'");
  const sentence = /Run "signet migrate" first/;
  await assertFails(folder, ['keys', 'list'], { code: 1, error: 'migrations_pending', sentence });
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { toConfig } from '../../src/config.ts';
import { DatabaseUnusable } from '../../src/db/database.ts';
import { createService } from '../../src/service.ts';
import { temporaryFolder } from '../databases.ts';
import { ADMIN } from '../harness.ts';

const root = temporaryFolder();
let folders = 0;
after(() => rmSync(root, { recursive: true }));

function newFolder() {
  folders += 1;
  const folder = join(root, String(folders));
  mkdirSync(folder);
  return { folder, keyFile: join(folder, 'master.key') };
}

/** Opens the whole service on the folder and closes it again. */
async function open(folder: string, env: Record<string, string> = {}): Promise<void> {
  const config = toConfig({
    SIGNET_DATA_DIR: folder,
    SIGNET_ADMIN_EMAIL: ADMIN.email,
    SIGNET_ADMIN_PASSWORD: ADMIN.password,
    SIGNET_LOG_LEVEL: 'silent',
    ...env,
  });
  await (await createService(config)).stop();
}

async function openedOnce() {
  const place = newFolder();
  await open(place.folder);
  return place;
}

const aKey = () => randomBytes(32).toString('base64');

async function assertRefused(opening: Promise<void>, sentence: RegExp): Promise<void> {
  await assert.rejects(opening, (error) => {
    assert.ok(error instanceof DatabaseUnusable);
    assert.match(error.message, sentence);
    return true;
  });
}

test('a new database gets a key file that its owner alone can read', async () => {
  const { keyFile } = await openedOnce();
  assert.equal(statSync(keyFile).mode & 0o777, 0o600);
  assert.equal(Buffer.from(readFileSync(keyFile, 'utf8'), 'base64').length, 32);
});

test('the key file is made once and opens its database again', async () => {
  const { folder, keyFile } = await openedOnce();
  const key = readFileSync(keyFile, 'utf8');
  await open(folder);
  assert.equal(readFileSync(keyFile, 'utf8'), key);
});

test('a database elsewhere than in the data folder still gets its key file there', async () => {
  const { folder } = newFolder();
  const dataDir = join(folder, 'data');
  await open(dataDir, { SIGNET_DATABASE_URL: join(folder, 'elsewhere', 'signet.db') });
  assert.equal(existsSync(join(dataDir, 'master.key')), true);
});

test('a configured key needs no file, makes none, and is needed ever after', async () => {
  const { folder, keyFile } = newFolder();
  const env = { SIGNET_MASTER_KEY: aKey() };
  await open(folder, env);
  await open(folder, env);
  assert.equal(existsSync(keyFile), false);
  await assertRefused(open(folder), /master key file .+ is missing\. Restore it, or set SIGNET_MASTER_KEY/);
});

test('a missing key file stops the start, and no new one is made for an existing database', async () => {
  const { folder, keyFile } = await openedOnce();
  renameSync(keyFile, `${keyFile}.away`);
  await assertRefused(open(folder), /master key file .+ is missing\. Restore it/);
  assert.equal(existsSync(keyFile), false);
  renameSync(`${keyFile}.away`, keyFile);
  await open(folder);
});

test('a wrong key stops the start, in the file or in the settings', async () => {
  const { folder, keyFile } = await openedOnce();
  const sentence = /master key is not the one of this database\. Restore the key/;
  await assertRefused(open(folder, { SIGNET_MASTER_KEY: aKey() }), sentence);
  writeFileSync(keyFile, aKey());
  await assertRefused(open(folder), sentence);
});

test('a damaged key file stops the start with the sentence of its damage and is left as it is', async () => {
  const { folder, keyFile } = await openedOnce();
  const key = readFileSync(keyFile, 'utf8');
  for (const damaged of ['', key.slice(1), `${key}x`, 'not base64 at all\n']) {
    writeFileSync(keyFile, damaged);
    await assertRefused(open(folder), /does not hold the base64 of 32 bytes\. Restore it from a copy/);
    assert.equal(readFileSync(keyFile, 'utf8'), damaged);
  }
});

test('no sentence repeats a key', async () => {
  const { folder } = await openedOnce();
  const SIGNET_MASTER_KEY = aKey();
  await assert.rejects(open(folder, { SIGNET_MASTER_KEY }), (error) => {
    assert.equal(String(error).includes(SIGNET_MASTER_KEY), false);
    return true;
  });
});

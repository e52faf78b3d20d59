import assert from 'node:assert/strict';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Checkpoints } from '../../src/db/checkpoints.ts';
import { openSqlite } from '../../src/db/sqlite.ts';
import { temporaryFolder } from '../databases.ts';
import { until } from '../until.ts';

const folder = temporaryFolder();
after(() => rmSync(folder, { recursive: true }));

const MOST_PAGES = 300;
const PAGE_BYTES = 4096 + 24;
/** A log that nobody shortens would be as long as this in the end. */
const MOST_WRITTEN = 60_000;

test('under writes without a pause the log begins anew again and again, and nothing is damaged', async () => {
  const path = join(folder, 'busy.db');
  const database = await openSqlite(path);
  let beginnings = 0;
  const finish = () => {
    database.prepareWrite('pragma wal_checkpoint(passive)').get();
    beginnings += 1;
  };
  const options = { afterCommits: 1, everyMilliseconds: 5, leastPages: 1, mostPages: MOST_PAGES };
  const checkpoints = new Checkpoints({ path, finish, ...options });
  const value = 'x'.repeat(100 * 4000);
  let written = 0;
  while ((beginnings < 10 || written < 20_000) && written < MOST_WRITTEN) {
    const name = String(written);
    await database.transaction((tx) => tx.insertInto('service_metadata').values({ name, value }).execute());
    await database.transaction((tx) => tx.deleteFrom('service_metadata').where('name', '=', name).execute());
    written += 100;
    checkpoints.noteCommit();
  }
  await checkpoints.close();
  assert.ok(beginnings >= 10);
  assert.ok(statSync(`${path}-wal`).size < (written * PAGE_BYTES) / 2);
  assert.deepEqual({ ...database.prepareRead('pragma integrity_check').get() }, { integrity_check: 'ok' });
  await database.close();
});

test('a few pages stay in the log until there are enough of them', async () => {
  const path = join(folder, 'few.db');
  const database = await openSqlite(path);
  const state = () => database.prepareRead('pragma wal_checkpoint(noop)').get() as { checkpointed: number };
  const finish = () => assert.fail('called');
  const options = { afterCommits: 1, everyMilliseconds: 5, leastPages: 500, mostPages: 100_000 };
  const checkpoints = new Checkpoints({ path, finish, ...options });
  const write = async (name: string, pages: number) => {
    const value = 'x'.repeat(pages * 4096);
    await database.transaction((tx) => tx.insertInto('service_metadata').values({ name, value }).execute());
    checkpoints.noteCommit();
  };
  const before = state().checkpointed;
  await write('few', 10);
  await sleep(100);
  assert.equal(state().checkpointed, before);
  await write('many', 500);
  await until('the checkpoint', () => state().checkpointed > before);
  await checkpoints.close();
  await database.close();
});

test('whoever writes little starts no thread, and closing twice is no harm', async () => {
  const checkpoints = new Checkpoints({ path: join(folder, 'none.db'), finish: () => assert.fail('called') });
  for (let commits = 0; commits < 99; commits++) checkpoints.noteCommit();
  await checkpoints.close();
  await checkpoints.close();
});

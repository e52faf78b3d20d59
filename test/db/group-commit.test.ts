import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, beforeEach, test } from 'node:test';
import { DatabaseUnavailable } from '../../src/db/database.ts';
import { openSqlite, type SqliteDatabase } from '../../src/db/sqlite.ts';
import { temporaryFolder } from '../databases.ts';
import { ids } from './rows.ts';

const folder = temporaryFolder();
const path = join(folder, 'signet.db');
const commits: number[] = [];
let database: SqliteDatabase;

before(async () => {
  database = await openSqlite(path, { onCommit: ({ transactions }) => commits.push(transactions) });
});
beforeEach(() => {
  commits.length = 0;
});
after(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});

const store = (name: string, value = 'x') =>
  database.transaction(async (tx) => {
    await tx.insertInto('service_metadata').values({ name, value }).execute();
  });

async function stored(names: readonly string[]): Promise<number> {
  const rows = await database.reader
    .selectFrom('service_metadata')
    .select('name')
    .where('name', 'in', names)
    .execute();
  return rows.length;
}

const someNames = (count: number) => Array.from({ length: count }, () => ids.newSortable());

test('transactions that arrive together share one commit, and each is in it', async () => {
  const names = someNames(20);
  await Promise.all(names.map((name) => store(name)));
  assert.deepEqual(commits, [20]);
  assert.equal(await stored(names), 20);
});

test('no more than 32 transactions share a commit', async () => {
  await Promise.all(someNames(70).map((name) => store(name)));
  assert.deepEqual(commits, [32, 32, 6]);
});

test('transactions run one at a time, in the order in which they came', async () => {
  const order: number[] = [];
  let running = 0;
  const work = (index: number) =>
    database.transaction(async (tx) => {
      running += 1;
      assert.equal(running, 1);
      await tx.selectFrom('service_metadata').select('name').limit(1).execute();
      order.push(index);
      running -= 1;
    });
  const indexes = Array.from({ length: 50 }, (_, index) => index);
  await Promise.all(indexes.map(work));
  assert.deepEqual(order, indexes);
});

test('nobody is answered before the commit that holds his write', async () => {
  let committedAtAnswer: number | null = null;
  await Promise.all(
    someNames(3).map(async (name) => {
      await store(name);
      committedAtAnswer ??= commits.length;
    }),
  );
  assert.equal(committedAtAnswer, 1);
});

test('a transaction that arrives while a group runs joins the next one', async () => {
  let later: Promise<unknown> = Promise.resolve();
  await database.transaction(async () => {
    later = store(ids.newSortable());
  });
  await later;
  assert.deepEqual(commits, [1, 1]);
});

test('a lock of another program fails the whole group as unavailable, and later transactions work', async () => {
  const other = new DatabaseSync(path);
  other.exec('begin immediate');
  const names = someNames(3);
  const outcomes = await Promise.allSettled(names.map((name) => store(name)));
  other.exec('rollback');
  other.close();
  for (const outcome of outcomes) {
    assert.ok(outcome.status === 'rejected' && outcome.reason instanceof DatabaseUnavailable);
  }
  assert.equal(await stored(names), 0);
  await Promise.all(names.map((name) => store(name)));
  assert.equal(await stored(names), 3);
});

test('a commit that fails fails every transaction in it, and later transactions work', async () => {
  const names = someNames(3);
  const [first, , third] = names as [string, string, string];
  const outcomes = await Promise.allSettled([store(first), breakCommit(), store(third)]);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status),
    ['rejected', 'rejected', 'rejected'],
  );
  assert.deepEqual([commits, await stored(names)], [[], 0]);
  await Promise.all(names.map((name) => store(name)));
  assert.deepEqual([commits, await stored(names)], [[3], 3]);
});

test('a full disk refuses what does not fit as unavailable, acknowledges only what is there, and passes', async () => {
  const names = someNames(4);
  const large = 'x'.repeat(200_000);
  await limitPages(1);
  const outcomes = await Promise.allSettled(
    names.map((name, index) => store(name, index === 2 ? large : 'x')),
  );
  await limitPages(1_000_000);
  const refused = outcomes[2];
  assert.ok(refused?.status === 'rejected' && refused.reason instanceof DatabaseUnavailable);
  for (const [index, outcome] of outcomes.entries()) {
    assert.equal((await stored([names[index] as string])) === 1, outcome.status === 'fulfilled');
  }
  await store(names[2] as string, large);
  assert.equal(await stored(names.slice(2, 3)), 1);
});

/** A foreign key that is checked at the end lets every statement pass and the commit fail. */
function breakCommit(): Promise<unknown> {
  return database.transaction((tx) => {
    database.prepareWrite('pragma defer_foreign_keys = on').run();
    return tx
      .insertInto('secret_rotations')
      .values({ agent_id: ids.newId('agent'), rotated_at: 1 })
      .execute();
  });
}

/** A file that may not grow is what a full disk is to SQLite. */
const limitPages = (most: number) =>
  database.transaction(async () => {
    database.prepareWrite(`pragma max_page_count = ${most}`).get();
  });

test('closing waits for the transactions that were begun', async () => {
  const closing = join(folder, 'closing.db');
  const names = someNames(40);
  const closed = await openSqlite(closing);
  const writes = names.map((name) =>
    closed.transaction((tx) => tx.insertInto('service_metadata').values({ name, value: 'x' }).execute()),
  );
  await closed.close();
  await Promise.all(writes);
  const file = new DatabaseSync(closing);
  const count = file.prepare('select count(*) as count from service_metadata').get();
  file.close();
  assert.equal(count?.['count'], 40);
});

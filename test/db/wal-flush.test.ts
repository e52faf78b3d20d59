import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { DatabaseUnavailable } from '../../src/db/database.ts';
import { type CommitConnection, GroupCommit } from '../../src/db/group-commit.ts';
import { WalFlush } from '../../src/db/wal-flush.ts';
import { temporaryFolder } from '../databases.ts';

const folder = temporaryFolder();
after(() => rmSync(folder, { recursive: true }));

/** A connection whose disk a test holds in its hand. */
function slowDisk() {
  const flushes: PromiseWithResolvers<void>[] = [];
  let isInTransaction = false;
  const connection: CommitConnection = {
    execute(sql) {
      if (/^(begin|commit|rollback$)/.test(sql)) isInTransaction = sql.startsWith('begin');
    },
    isInTransaction: () => isInTransaction,
    flush() {
      const flush = Promise.withResolvers<void>();
      flushes.push(flush);
      return flush.promise;
    },
  };
  return { flushes, commits: new GroupCommit(connection, () => {}) };
}

const aWhile = () => new Promise((resolve) => setTimeout(resolve, 20));

test('nobody is answered before the flush of his commit; who comes meanwhile shares the next', async () => {
  const { flushes, commits } = slowDisk();
  const answered: string[] = [];
  const run = (name: string) => commits.run(async () => name).then((value) => answered.push(value));
  const first = [run('a'), run('b')];
  await aWhile();
  const second = [run('c'), run('d'), run('e')];
  await aWhile();
  assert.deepEqual([answered, flushes.length], [[], 1]);
  flushes[0]?.resolve();
  await Promise.all(first);
  await aWhile();
  assert.deepEqual([answered, flushes.length], [['a', 'b'], 2]);
  flushes[1]?.resolve();
  await Promise.all(second);
  assert.deepEqual(answered, ['a', 'b', 'c', 'd', 'e']);
});

test('a flush that fails fails everybody in its group, and nobody else', async () => {
  const { flushes, commits } = slowDisk();
  const doomed = Promise.allSettled([commits.run(async () => 1), commits.run(async () => 2)]);
  await aWhile();
  flushes[0]?.reject(new DatabaseUnavailable('the disk is gone'));
  assert.deepEqual(
    (await doomed).map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  const later = commits.run(async () => 3);
  await aWhile();
  flushes[1]?.resolve();
  assert.equal(await later, 3);
});

test('a log that could not be flushed once is never trusted again', async () => {
  const path = join(folder, 'lost.db');
  const log = new WalFlush(path);
  await assert.rejects(log.flush(), DatabaseUnavailable);
  writeFileSync(`${path}-wal`, 'it is back');
  await assert.rejects(log.flush(), DatabaseUnavailable);
  log.close();
});

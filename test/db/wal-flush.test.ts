import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
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
    prepare: async () => {},
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

/** A log of several transactions, and a disk that refuses so many flushes. */
function refusedLog(name: string, { refusals = 1, isAlone = false } = {}) {
  const path = join(folder, name);
  const connection = new DatabaseSync(path);
  connection.exec('pragma journal_mode = wal; create table numbers (number integer)');
  for (let number = 0; number < 300; number += 1) connection.exec(`insert into numbers values (${number})`);
  let left = refusals;
  const log = new WalFlush(path, {
    isAlone,
    retryMilliseconds: 0,
    countFrames: () => Number(connection.prepare('pragma wal_checkpoint(noop)').get()?.['log']),
    async flushFile() {
      if (left === 0) return;
      left -= 1;
      throw Object.assign(new Error('EIO'), { code: 'EIO' });
    },
  });
  const close = () => {
    log.close();
    connection.close();
  };
  return { path, walPath: `${path}-wal`, log, close };
}

test('after a flush that failed the log is trusted again once all of it was checked, written again and flushed', async () => {
  const { walPath, log, close } = refusedLog('again.db', { refusals: 2 });
  const written = readFileSync(walPath);
  await assert.rejects(log.flush(), DatabaseUnavailable);
  await assert.rejects(log.trust(), DatabaseUnavailable);
  assert.equal(log.isSuspect, true);
  await log.trust();
  assert.equal(log.isSuspect, false);
  assert.ok(readFileSync(walPath).equals(written));
  await log.flush();
  close();
});

test('a log whose refused bytes are gone from memory is never trusted again, nor written', async () => {
  const { walPath, log, close } = refusedLog('lost.db');
  await assert.rejects(log.flush(), DatabaseUnavailable);
  const file = openSync(walPath, 'r+');
  writeSync(file, Buffer.alloc(4096), 0, 4096, statSync(walPath).size - 4096);
  closeSync(file);
  for (let again = 0; again < 2; again += 1) await assert.rejects(log.trust(), /Restart the service/);
  assert.equal(log.isSuspect, true);
  close();
});

test('a log that another process left is written again before anything is added to it', async () => {
  const { path, log, close } = refusedLog('left.db');
  assert.equal(log.isSuspect, false);
  let flushes = 0;
  const next = new WalFlush(path, {
    isAlone: true,
    countFrames: () => 300,
    flushFile: async () => {
      flushes += 1;
    },
  });
  assert.equal(next.isSuspect, true);
  await next.trust();
  assert.deepEqual([next.isSuspect, flushes], [false, 1]);
  next.close();
  close();
});

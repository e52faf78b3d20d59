import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { adminEnv, type Child, runChild, startChild } from '../child.ts';
import { freePort } from '../free-port.ts';
import { type Answer, send } from '../harness.ts';
import { assertNothingLost, assertRefusal, progress, refusals, startLoad } from '../outage/load.ts';
import { until } from '../until.ts';
import { type Disk, mountDisk, sqliteFolder, whyNoDisk } from './disk.ts';

const env = { ...adminEnv, SIGNET_LOG_LEVEL: 'error' };

describe('a disk that may not be written', { skip: whyNoDisk() }, () => {
  let disk: Disk;
  let port: number;
  before(async () => {
    disk = mountDisk(12);
    port = await freePort();
  });
  after(() => disk.remove());

  async function assertRefusedStart(sentence: RegExp): Promise<void> {
    const before = readdirSync(disk.dataDir);
    const { code, stdout, stderr } = await runChild({ folder: disk.folder, port, env });
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, sentence);
    assert.deepEqual(readdirSync(disk.dataDir), before);
  }

  const sentence = /^The (lock|database) file .+ cannot be opened\. See that .*this user may write.+\n$/;

  test('at the start: one sentence that says what to do, with and without a database on it', async () => {
    disk.remount('ro');
    await assertRefusedStart(sentence);
    disk.remount('rw');
    const child = await startChild({ folder: disk.folder, port, env });
    assert.equal((await child.kill('SIGTERM')).code, 0);
    disk.remount('ro');
    await assertRefusedStart(sentence);
    disk.remount('rw');
    const again = await startChild({ folder: disk.folder, port, env });
    assert.equal((await again.kill('SIGTERM')).code, 0);
  });
});

test('a data folder that cannot be made is told in one sentence', async (t) => {
  const { folder, dataDir } = sqliteFolder();
  t.after(() => folder.remove());
  writeFileSync(dataDir, 'a file is in the way');
  const { code, stderr } = await runChild({ folder, env });
  assert.equal(code, 1);
  assert.match(stderr, /^The folder .+ cannot be made\. Make it, .+\n$/);
});

/** A process whose files may not grow meets at each write what a disk that was remounted would say: an error. */
const hasLimits = spawnSync('prlimit', ['--version']).status === 0;

describe('writes that fail in a service that runs', {
  skip: !hasLimits && 'there is no prlimit here',
}, () => {
  const { folder } = sqliteFolder();
  after(() => folder.remove());
  let child: Child;
  const get = (path: string): Promise<Answer> => send(child.url, 'GET', path);
  const limit = (size: string) =>
    execFileSync('prlimit', ['--pid', String(child.process.pid), `--fsize=${size}:unlimited`]);

  test('503 meanwhile, then service by itself, and nothing acknowledged is lost', async () => {
    child = await startChild({ folder, env });
    const load = startLoad(child.url);
    await progress(load, 100);
    limit('0');
    await refusals(load, 60);
    const told = await get('/readyz');
    assertRefusal(told);
    assert.match(told.body.error_description, /^Nothing can be written\. The disk refuses/);
    assert.equal((await get('/livez')).status, 200);
    limit('unlimited');
    await progress(load);
    await load.stop();
    await until('readiness', async () => (await get('/readyz')).status === 200);
    await assertNothingLost(child.url, load);
    assert.equal((await child.kill('SIGTERM')).code, 0);
    const lines = child
      .output()
      .stderr.split('\n')
      .filter((line) => line.includes('takes no writes'));
    assert.equal(lines.length, 1, lines.join('\n'));
  });
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { toFailure } from '../../src/cli/failure.ts';
import { toConfig } from '../../src/config.ts';
import { examineSqlite } from '../../src/db/sqlite-examine.ts';
import { createService } from '../../src/service.ts';
import { runChild } from '../child.ts';
import { databaseKinds } from '../databases.ts';
import { storedSigningKey } from '../signing-keys.ts';
import {
  COMMITS,
  contentsOf,
  envOf,
  type Left,
  leaveFolders,
  noise,
  overwrite,
  PAGE,
  rootOf,
} from './left.ts';

const FRAME = PAGE + 24;

describe('what is damaged is refused and left as it is', { skip: !databaseKinds.includes('SQLite') }, () => {
  let left: Left;
  before(async () => {
    left = await leaveFolders();
  });
  after(() => left.remove());

  const copyOf = (what: 'stopped' | 'killed'): string => left.copyOf(what);
  const fileIn = (place: string, name: string): string => join(place, name);

  /** Opens the whole service as `signet serve` would; answers what that would print. */
  async function open(place: string, more: Record<string, string> = {}): Promise<string> {
    try {
      const service = await createService(toConfig(envOf(place, more)), { generateKey: storedSigningKey });
      await service.stop();
      return '';
    } catch (error) {
      const { description, exitCode } = toFailure(error);
      assert.notEqual(exitCode, 0);
      return description;
    }
  }

  async function assertRefused(
    place: string,
    sentence: RegExp,
    more: Record<string, string> = {},
  ): Promise<void> {
    const before = contentsOf(place);
    const told = await open(place, more);
    assert.match(told, sentence);
    assert.doesNotMatch(told, /\n|\bat .+:\d+|node_modules|SQLITE_|undefined/);
    for (const secret of [secretIn(place), more['SIGNET_MASTER_KEY']]) {
      assert.ok(secret === undefined || secret.length < 10 || !told.includes(secret));
    }
    assert.deepEqual(contentsOf(place), before);
  }

  function secretIn(place: string): string | undefined {
    const key = fileIn(place, 'master.key');
    return statSync(key, { throwIfNoEntry: false })?.isFile() ? readFileSync(key, 'utf8').trim() : undefined;
  }

  test('a control: what was left untouched opens, stopped or killed', async () => {
    for (const what of ['stopped', 'killed'] as const) assert.equal(await open(copyOf(what)), '');
    assert.ok(statSync(fileIn(left.killed, 'signet.db-wal')).size > FRAME * COMMITS);
  });

  test('a database file that is cut off, anywhere, or gone while its log is there', async () => {
    const { size } = statSync(fileIn(left.stopped, 'signet.db'));
    for (const bytes of [0, 10, 100, PAGE, size / 2, size - PAGE, size - 1]) {
      const place = copyOf('stopped');
      truncateSync(fileIn(place, 'signet.db'), Math.floor(bytes));
      await assertRefused(
        place,
        /^The database file .+ (is damaged|is empty or missing|cannot be opened).+\.$/,
      );
    }
    const place = copyOf('killed');
    rmSync(fileIn(place, 'signet.db'));
    await assertRefused(place, /is empty or missing, but was made\. Restore it from a backup/);
    assert.equal(existsSync(fileIn(place, 'signet.db')), false);
  });

  test('a database file with a page of noise, the first one and every fifth of the others', async () => {
    const pages = statSync(fileIn(left.stopped, 'signet.db')).size / PAGE;
    for (let page = 0; page < pages; page += 5) {
      const place = copyOf('stopped');
      overwrite(fileIn(place, 'signet.db'), page * PAGE, noise(1));
      await assertRefused(place, /^The database file .+ (is damaged: .+ Restore it|cannot be opened).+\.$/);
    }
  });

  test('of a large file the ends of every tree are looked at, which finds noise in a root', async () => {
    const whole = copyOf('stopped');
    await examineSqlite(fileIn(whole, 'signet.db'), 0);
    for (const table of ['agents', 'audit_entries', 'signing_keys']) {
      const place = copyOf('stopped');
      overwrite(fileIn(place, 'signet.db'), rootOf(fileIn(place, 'signet.db'), table), noise(1));
      await assert.rejects(examineSqlite(fileIn(place, 'signet.db'), 0), /is damaged: .+Restore it/);
    }
  });

  test('a log with a hole before transactions that were promised, in its header, its beginning or its middle', async () => {
    for (const at of [0, 8, 32 + 8, 32 + 4, 32 + FRAME * 10 + 100, 32 + FRAME * 20]) {
      const place = copyOf('killed');
      overwrite(fileIn(place, 'signet.db-wal'), at, randomBytes(at < 32 ? 16 : 200));
      await assertRefused(
        place,
        /is damaged: its log \(-wal\) has a hole\. It was left as it is\. Restore it/,
      );
    }
  });

  test('a torn end of a log is no damage: nothing behind it was promised to anybody', async () => {
    const place = copyOf('killed');
    const log = fileIn(place, 'signet.db-wal');
    truncateSync(log, statSync(log).size - 100);
    assert.equal(await open(place), '');
    const other = copyOf('killed');
    writeFileSync(fileIn(other, 'signet.db-wal'), noise(20), { flag: 'a' });
    assert.equal(await open(other), '');
  });

  test('a file that is no database, one of another program, and one of a newer version', async () => {
    const letter = copyOf('stopped');
    writeFileSync(fileIn(letter, 'signet.db'), 'Dear Sir or Madam, '.repeat(1000));
    await assertRefused(letter, /cannot be opened\. See that it is a SQLite database/);
    const foreign = copyOf('stopped');
    rmSync(fileIn(foreign, 'signet.db'));
    edit(foreign, 'create table bookmarks (url text)');
    await assertRefused(foreign, /belongs to another program\. Set SIGNET_DATABASE_URL/);
    const newer = copyOf('stopped');
    edit(newer, "insert into schema_migrations (name, timestamp) values ('0999_future', '2030-01-01')");
    await assertRefused(newer, /made by a newer version of Signet \(it has 0999_future\)\. Run that version/);
  });

  function edit(place: string, sql: string): void {
    const connection = new DatabaseSync(fileIn(place, 'signet.db'));
    connection.exec(sql);
    connection.close();
  }

  test('a master key that is damaged, another one, missing, or not a file; in the file and in the settings', async () => {
    const key = readFileSync(fileIn(left.stopped, 'master.key'), 'utf8');
    for (const bad of ['', key.slice(0, 20), 'x'.repeat(44), noise(1)]) {
      const place = copyOf('stopped');
      writeFileSync(fileIn(place, 'master.key'), bad);
      await assertRefused(place, /^The master key file .+ does not hold the base64 of 32 bytes\. Restore it/);
    }
    const folder = copyOf('stopped');
    rmSync(fileIn(folder, 'master.key'));
    mkdirSync(fileIn(folder, 'master.key'));
    await assertRefused(folder, /^The master key file .+ cannot be read \(EISDIR\)\. See that it is a file/);
    const wrong = randomBytes(32).toString('base64');
    const other = copyOf('stopped');
    await assertRefused(other, /master key is not the one of this database\. Restore/, {
      SIGNET_MASTER_KEY: wrong,
    });
    writeFileSync(fileIn(other, 'master.key'), wrong);
    await assertRefused(other, /master key is not the one of this database\. Restore/);
    rmSync(fileIn(other, 'master.key'));
    await assertRefused(other, /master key file .+ is missing\. Restore it, or set SIGNET_MASTER_KEY/);
  });

  test('the real process says it on one line of stderr, and ends with 1', async () => {
    const place = copyOf('killed');
    overwrite(fileIn(place, 'signet.db-wal'), 32 + FRAME * 10, noise(1));
    const scenes: [Record<string, string>, RegExp][] = [
      [envOf(place), /is damaged: its log/],
      [
        envOf(place, { SIGNET_MASTER_KEY: 'c2VjcmV0' }),
        /SIGNET_MASTER_KEY must be the base64 of exactly 32 bytes/,
      ],
    ];
    for (const [given, sentence] of scenes) {
      const { code, stdout, stderr } = await runChild({ folder: left.folder, env: given });
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, sentence);
      assert.ok(!stderr.includes('c2VjcmV0') && stderr.trim().split('\n').length <= 2);
    }
  });
});

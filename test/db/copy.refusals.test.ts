import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { depsOfProcess } from '../../src/cli/command.ts';
import { copy } from '../../src/cli/copy.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import { systemClock } from '../../src/clock.ts';
import { toConfig } from '../../src/config.ts';
import { SqliteDatabase } from '../../src/db/sqlite.ts';
import { databaseKinds } from '../databases.ts';

import {
  assertRefused,
  copied,
  fillSource,
  folder,
  kinds,
  masterKey,
  newFile,
  ROWS,
  removeCopies,
  run,
  source,
} from './copies.ts';

after(removeCopies);
before(fillSource);

for (const { name, newPlace } of kinds) {
  describe(name, { skip: !databaseKinds.some((kind) => kind === name) }, () => {
    test('a target with rows is refused, and the sentence says in which table', async () => {
      const { place, query } = await newPlace();
      await copied(source, place);
      await query('delete from delivery_attempts where attempt > 0 or attempt <= 0');
      await query('delete from service_metadata');
      await assertRefused(run(source, place), {
        error: 'conflict',
        sentence: /is not empty: there are rows in revoked_tokens\./,
      });
      assert.equal((await query(ROWS)).length, 0);
    });

    test('a source that lacks migrations, or has newer ones, is refused', async () => {
      const [{ place, query }, target] = [await newPlace(), newFile()];
      await copied(source, place);
      await query("insert into schema_migrations (name, timestamp) values ('9999_future', '2030')");
      await assertRefused(run(place, target), { error: 'database_unusable', sentence: /newer version/ });
      await query("delete from schema_migrations where name > '0001_initial'");
      await assertRefused(run(place, target), {
        error: 'migrations_pending',
        sentence: /0002_delivery_engine.+ missing\. Run "signet migrate" there first/,
      });
    });

    test('the target must be another database than the source', async () => {
      const { place } = await newPlace();
      await copied(source, place);
      await assertRefused(run(place, place), { error: 'conflict', sentence: /FROM and TO are the same/ });
    });

    test('a master key that does not open the source is told before anything is copied', async () => {
      const [{ place }, target] = [await newPlace(), newFile()];
      await copied(source, place);
      const env = { SIGNET_MASTER_KEY: Buffer.alloc(32, 'wrong').toString('base64') };
      const refused = { error: 'database_unusable', sentence: /master key is not the one/ };
      await assertRefused(run(place, target, env), refused);
      await copied(place, target);
    });
  });
}

test('a service that runs keeps its SQLite file to itself: nothing is copied from it, nor to it', async () => {
  const path = newFile();
  const serving = new SqliteDatabase(path);
  const refused = { error: 'database_unusable', sentence: /Another process uses the database file/ };
  for (const [from, to] of [
    [path, newFile()],
    [source, path],
  ] as const) {
    await assertRefused(run(from, to), refused);
  }
  await serving.close();
});

test('one file under two names is one database', async () => {
  const link = newFile();
  symlinkSync(source, link);
  await assertRefused(run(source, link), { error: 'conflict', sentence: /are the same database/ });
});

test('the key in the folder of the source is checked, and shown as the setting that it becomes', async () => {
  const data = join(folder, 'data');
  mkdirSync(data);
  const file = join(data, 'master.key');
  const path = join(data, 'signet.db');
  await copied(source, path);
  writeFileSync(file, `${Buffer.alloc(32, 'wrong').toString('base64')}\n`);
  const withoutKey = { loadConfig: () => toConfig({}), clock: systemClock };
  const refused = { error: 'database_unusable', sentence: /master key is not the one/ };
  await assertRefused(copy(withoutKey, { from: path, to: newFile() }), refused);
  writeFileSync(file, `${masterKey}\n`);
  const { text } = await copy(withoutKey, { from: path, to: newFile() });
  assert.ok(text.includes(`SIGNET_MASTER_KEY  "$(cat '${file}')"`));
});

for (const [what, from, to, sentence] of [
  ['a URL of another database', 'mysql://u:secret@h/d', 'x.db', /^FROM must be a path, sqlite:PATH/],
  ['a URL without a database', 'x.db', 'postgres://u:secret@h', /^TO must be postgres:/],
] as const) {
  test(`wrong usage: ${what}, which is not repeated`, () =>
    assertRefused(run(from, to), { error: 'invalid_usage', sentence, exitCode: 2 }));
}

test('wrong usage: a URL too much, whose password is not repeated', async () => {
  let told = '';
  const stderr = new Writable({
    write(chunk, _encoding, done) {
      told += chunk;
      done();
    },
  });
  const given = ['copy', 'a.db', 'b.db', 'postgres://u:secret@h/d'];
  assert.equal(await runCommandLine({ ...depsOfProcess(), stderr }, given), 2);
  assert.match(told, /^Too many arguments .+ postgres:\/\/\*\*\*@h\/d\./);
});

test('a source that is not there is told, and a server that does not answer, without its password', async () => {
  const missing = { error: 'no_database', sentence: /There is no database at/ };
  await assertRefused(run(newFile(), newFile()), missing);
  await assertRefused(run(source, 'postgres://u:for-tests-only@127.0.0.1:1/d'), {
    error: 'database_unusable',
    sentence: /^No PostgreSQL server answers at 127\.0\.0\.1:1 .+ or correct TO\.$/,
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Command } from 'commander';
import { depsOfProcess } from '../../src/cli/command.ts';
import { createProgram } from '../../src/cli/program.ts';
import { assertFails, signet } from './signet.ts';

const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
after(() => rmSync(folder, { recursive: true }));

const env = { SIGNET_DATA_DIR: folder };

function pathsOf(command: Command, above: readonly string[] = []): string[][] {
  return command.commands.flatMap((sub) => {
    const path = [...above, sub.name()];
    return sub.commands.length === 0 ? [path] : pathsOf(sub, path);
  });
}

for (const path of pathsOf(createProgram(depsOfProcess()))) {
  test(`signet ${path.join(' ')} --help explains it and does nothing`, async () => {
    const { code, stdout: text, stderr: errors } = await signet(env, ...path, '--help');
    assert.deepEqual([code, errors], [0, '']);
    assert.ok(text.startsWith(`Usage: signet ${path.join(' ')}`));
    assert.deepEqual(readdirSync(folder), []);
  });
}

test('an option that a command does not have is refused, in JSON where that is asked for', async () => {
  const sentence = /^Unknown option '--colour'/;
  await assertFails(env, ['keys', 'list', '--colour'], { code: 2, error: 'invalid_usage', sentence });
});

test('a group of commands without one of them is wrong usage and is explained', async () => {
  for (const group of ['admin', 'keys']) {
    const { code, stdout: text, stderr: help } = await signet(env, group);
    assert.deepEqual([code, text], [2, '']);
    assert.ok(help.startsWith(`Usage: signet ${group}`));
  }
});

test('a command tells all problems of the configuration, as serve does', async () => {
  for (const given of [['keys', 'list'], ['serve']]) {
    const { code, stderr: told } = await signet({ SIGNET_POTR: '1', SIGNET_LOG_LEVEL: 'loud' }, ...given);
    assert.equal(code, 1);
    assert.match(told, /SIGNET_POTR is not a setting/);
    assert.match(told, /SIGNET_LOG_LEVEL must be one of/);
  }
});

for (const given of [
  ['admin', 'list'],
  ['keys', 'list'],
  ['keys', 'rotate'],
  ['backup', 'copy.db'],
]) {
  test(`signet ${given.join(' ')} says where there is no database file, and makes none`, async () => {
    const sentence = /There is no database at .+signet\.db/;
    await assertFails(env, given, { code: 1, error: 'no_database', sentence });
    assert.deepEqual(readdirSync(folder), []);
  });
}

/** Nothing listens on port 1. */
const away = {
  SIGNET_DATA_DIR: folder,
  SIGNET_DATABASE_URL: 'postgres://signet:swordfish@127.0.0.1:1/signet',
  SIGNET_MASTER_KEY: Buffer.alloc(32).toString('base64'),
};

test('the commands say where no PostgreSQL server answers, and never the password of its URL', async () => {
  const sentence =
    /^No PostgreSQL server answers at 127\.0\.0\.1:1 \(ECONNREFUSED\)\. Start it, or correct SIGNET_DATABASE_URL\.\n?$/;
  for (const given of [
    ['migrate'],
    ['migrate', '--check'],
    ['admin', 'add', 'new@signet.test', '--generate'],
    ['admin', 'password', 'new@signet.test', '--generate'],
    ['admin', 'list'],
    ['admin', 'remove', 'new@signet.test'],
    ['keys', 'list'],
    ['keys', 'rotate'],
  ]) {
    await assertFails(away, given, { code: 1, error: 'database_unusable', sentence });
  }
});

test('a URL of PostgreSQL that cannot be read is refused without its password', async () => {
  for (const url of [
    'postgres://signet:swordfish@[::1/signet',
    'postgres://signet:swordfish%ZZ@localhost/signet',
  ]) {
    const { code, stdout, stderr } = await signet({ ...away, SIGNET_DATABASE_URL: url }, 'admin', 'list');
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /SIGNET_DATABASE_URL/);
    assert.doesNotMatch(stderr, /swordfish/);
  }
});

test('npx signet works in the project, and its exit code tells what the sentence does', {
  skip: process.platform === 'win32',
}, () => {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const { status, stdout, stderr } = spawnSync('npx', ['signet', 'serve'], {
    encoding: 'utf8',
    env: { PATH, NODE_COMPILE_CACHE, ...away },
  });
  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, /^No PostgreSQL server answers at 127\.0\.0\.1:1 /m);
  assert.doesNotMatch(stderr, /swordfish/);
});

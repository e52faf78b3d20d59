import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import type { Command } from 'commander';
import { depsOfProcess } from '../../src/cli/command.ts';
import { createProgram } from '../../src/cli/program.ts';
import { childFolder, runChild } from '../child.ts';
import { assertFails, signet } from './signet.ts';

const folder = childFolder();
after(() => folder.remove());

const program = createProgram(depsOfProcess());

function pathsOf(command: Command, above: readonly string[] = []): string[][] {
  return command.commands.flatMap((sub) => {
    const path = [...above, sub.name()];
    return sub.commands.length === 0 ? [path] : pathsOf(sub, path);
  });
}

for (const path of pathsOf(program)) {
  test(`signet ${path.join(' ')} --help explains it and does nothing`, async () => {
    const { code, stdout: text, stderr: errors } = await signet(folder, ...path, '--help');
    assert.deepEqual([code, errors], [0, '']);
    assert.ok(text.startsWith(`Usage: signet ${path.join(' ')}`));
  });
}

test('an option that a command does not have is refused, in JSON where that is asked for', async () => {
  const sentence = /^Unknown option '--colour'/;
  await assertFails(folder, ['keys', 'list', '--colour'], { code: 2, error: 'invalid_usage', sentence });
});

test('a group of commands without one of them is wrong usage and is explained', async () => {
  for (const group of ['admin', 'keys']) {
    const { code, stdout: text, stderr: help } = await signet(folder, group);
    assert.deepEqual([code, text], [2, '']);
    assert.ok(help.startsWith(`Usage: signet ${group}`));
  }
});

test('a command tells all problems of the configuration, as serve does', async () => {
  const env = { SIGNET_POTR: '1', SIGNET_LOG_LEVEL: 'loud' };
  for (const given of [['keys', 'list'], ['serve']]) {
    const { code, stderr: told } = await runChild({ folder, env, arguments: given });
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
  test(`signet ${given.join(' ')} says where there is no database, and makes none`, () =>
    assertFails(folder, given, {
      code: 1,
      error: 'no_database',
      sentence: /There is no database at .+signet\.db/,
    }));
}

test('npx signet works in the project', { skip: process.platform === 'win32' }, () => {
  const { status, stdout: text } = spawnSync('npx', ['signet', 'keys', '--help'], { encoding: 'utf8' });
  assert.equal(status, 0);
  assert.match(text, /^Usage: signet keys/m);
});

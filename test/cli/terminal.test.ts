import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { adminEnv, type Child, childFolder, startChild } from '../child.ts';
import { ADMIN, send } from '../harness.ts';

const hasTerminal = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');
const bin = join(import.meta.dirname, '..', '..', 'bin', 'signet.mjs');

/** Types each text when its prompt has appeared, on a terminal of its own; answers all that the terminal showed. */
async function typeAt(path: string, typing: ReadonlyArray<readonly [prompt: string, keys: string]>) {
  const command = `"${process.execPath}" "${bin}" admin password ${ADMIN.email}`;
  const { PATH = '' } = process.env;
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { cwd: path, env: { PATH } });
  const ended = once(terminal, 'close');
  let shown = '';
  const left = [...typing];
  terminal.stdout.on('data', (chunk: Buffer) => {
    shown += chunk;
    const [next] = left;
    if (next === undefined || !shown.includes(next[0])) return;
    left.shift();
    terminal.stdin.write(next[1]);
  });
  const [code] = (await ended) as [number];
  return { code, shown };
}

describe('on a terminal', { skip: hasTerminal ? false : 'needs script of util-linux' }, () => {
  const folder = childFolder();
  let child: Child;
  before(async () => {
    child = await startChild({ folder, env: adminEnv });
  });
  after(() => folder.remove());

  const status = async (password: string): Promise<number> =>
    (await send(child.url, 'GET', '/api/agents', { admin: { email: ADMIN.email, password } })).status;

  test('the password is asked for twice and never shown', async () => {
    const { code, shown } = await typeAt(folder.path, [
      ['Password: ', 'typed-unseem\u007fn-☃\r'],
      ['Again: ', 'typed-unseen-☃\r'],
    ]);
    assert.equal(code, 0, shown);
    assert.match(shown, /Changed the password of admin@signet\.test/);
    assert.doesNotMatch(shown, /typed|unse|☃/);
    assert.equal(await status('typed-unseen-☃'), 200);
  });

  test('two entries that differ, Ctrl-C and Ctrl-D change nothing', async () => {
    for (const [again, sentence] of [
      ['another-password\r', /The two passwords differ/],
      ['\u0003', /No password was given/],
      ['\u0004', /No password was given/],
    ] as const) {
      const { code, shown } = await typeAt(folder.path, [
        ['Password: ', 'one-password\r'],
        ['Again: ', again],
      ]);
      assert.equal(code, 1, shown);
      assert.match(shown, sentence);
      assert.equal(await status('one-password'), 401);
    }
  });
});

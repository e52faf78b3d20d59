import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { ADMIN, send, startService, type TestService } from '../harness.ts';
import { envBeside, signetReading } from './signet.ts';

const hasTerminal = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');
const bin = join(import.meta.dirname, '..', '..', 'bin', 'signet.mjs');
const given = ['admin', 'password', ADMIN.email];

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const status = async (password: string): Promise<number> =>
  (await send(service.url, 'GET', '/api/agents', { admin: { email: ADMIN.email, password } })).status;

describe('on a terminal', { skip: hasTerminal ? false : 'needs script of util-linux' }, () => {
  /** Types each text when its prompt has appeared, on a terminal of its own; answers all that the terminal showed. */
  async function typeAt(typing: ReadonlyArray<readonly [prompt: string, keys: string]>) {
    const command = `"${process.execPath}" "${bin}" ${given.join(' ')}`;
    const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
    const terminal = spawn('script', ['-qec', command, '/dev/null'], {
      cwd: service.dataDir,
      env: { PATH, NODE_COMPILE_CACHE, ...envBeside(service) },
    });
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

  test('the password is asked for twice and never shown', async () => {
    const { code, shown } = await typeAt([
      ['Password: ', 'typed-unseem\u007fn-☃\r'],
      ['Again: ', 'typed-unseen-☃\r'],
    ]);
    assert.equal(code, 0, shown);
    assert.match(shown, /Changed the password of admin@signet\.test/);
    assert.doesNotMatch(shown, /typed|unse|☃/);
    assert.equal(await status('typed-unseen-☃'), 200);
  });

  test('Ctrl-C changes nothing', async () => {
    const { code, shown } = await typeAt([
      ['Password: ', 'one-password\r'],
      ['Again: ', '\u0003'],
    ]);
    assert.equal(code, 1, shown);
    assert.match(shown, /No password was given/);
    assert.equal(await status('one-password'), 401);
  });
});

test('two entries that differ, and Ctrl-D, change nothing', async () => {
  for (const [again, sentence] of [
    ['another-password\r', /The two passwords differ/],
    ['\u0004', /No password was given/],
  ] as const) {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const answers = new Map([
      ['Password: ', 'one-password\r'],
      ['Again: ', again],
    ]);
    // After the prompt somebody types: not in the same breath.
    const onTold = (text: string) => setImmediate(() => stdin.write(answers.get(text) ?? ''));
    const { code, stderr } = await signetReading({ stdin, onTold }, envBeside(service), given);
    assert.equal(code, 1, stderr);
    assert.match(stderr, sentence);
    assert.equal(await status('one-password'), 401);
  }
});

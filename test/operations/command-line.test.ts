import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type ChildFolder, childFolder, runChild, startChild } from '../child.ts';
import { send } from '../harness.ts';

const folders: ChildFolder[] = [];
after(() => Promise.all(folders.map((folder) => folder.remove())));

function newFolder(): ChildFolder {
  const folder = childFolder();
  folders.push(folder);
  return folder;
}

const run = (...given: string[]) => runChild({ folder: newFolder(), arguments: given });
const packageFile = join(import.meta.dirname, '..', '..', 'package.json');
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string };

test('the first start prints a generated password once, and a curl line that makes an agent', async () => {
  const folder = newFolder();
  const child = await startChild({ folder });
  const { stdout } = child.output();
  const password = /Password +(\S+) +\(shown this once\)/.exec(stdout)?.[1] ?? '';
  assert.ok(password.length >= 20);
  assert.ok(stdout.includes(`listens on ${child.url}`));
  const line = stdout.slice(stdout.indexOf('curl '));
  const created = JSON.parse(
    execFileSync('sh', ['-c', line.replace('curl ', 'curl -sS ')], { encoding: 'utf8' }),
  );
  const admin = { email: 'admin@localhost', password };
  const { body } = await send(child.url, 'GET', `/api/agents/${created.agent.id}`, { admin });
  assert.equal(body.agent.name, 'my-first-agent');
  const first = await child.kill('SIGTERM');
  assert.equal(first.stderr.includes(password), false);

  const again = await startChild({ folder });
  assert.equal((await send(again.url, 'GET', '/api/agents', { admin })).status, 200);
  const second = await again.kill('SIGTERM');
  assert.equal(`${second.stdout}${second.stderr}`.includes(password), false);
  assert.match(second.stdout, /Password +as set when the administrator was made/);
});

test('a password that was configured is printed nowhere', async () => {
  const password = 'chosen-by-the-operator';
  const child = await startChild({ folder: newFolder(), env: { SIGNET_ADMIN_PASSWORD: password } });
  const { stdout, stderr } = await child.kill('SIGTERM');
  assert.equal(`${stdout}${stderr}`.includes(password), false);
});

test('a port in use stops the start with one sentence', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const { code, stdout, stderr } = await runChild({ folder: newFolder(), port });
  server.close();
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.equal(stderr, 'The port is in use. Stop what listens there, or set SIGNET_PORT.\n');
});

test('an address of another machine stops the start with one sentence', async () => {
  const { code, stderr } = await runChild({ folder: newFolder(), env: { SIGNET_HOST: '192.0.2.1' } });
  assert.equal(code, 1);
  assert.equal(stderr, 'SIGNET_HOST is not an address of this machine.\n');
});

test('--version and -v print the version of the package and nothing else', async () => {
  for (const argument of ['--version', '-v']) {
    assert.deepEqual(await run(argument), { code: 0, signal: null, stdout: `${version}\n`, stderr: '' });
  }
});

test('signet alone, --help and -h explain the commands and the exit codes', async () => {
  for (const given of [[], ['--help'], ['-h'], ['help']]) {
    const { code, stdout, stderr } = await run(...given);
    assert.deepEqual([code, stderr], [0, '']);
    for (const command of ['serve', 'migrate', 'backup', 'admin', 'keys']) {
      assert.match(stdout, new RegExp(`^  ${command} `, 'm'));
    }
    assert.match(stdout, /2 {2}wrong usage/);
  }
});

test('an unknown argument is told on standard error and exits with 2', async () => {
  for (const [given, sentence] of [
    [['--prot'], /^Unknown option '--prot'/],
    [['start'], /^Unknown command 'start'/],
    [['serve', 'twice'], /^Too many arguments for 'serve'/],
    [['keys', 'lst'], /Did you mean list\?/],
    [['backup'], /^Missing required argument 'file'/],
  ] as const) {
    const { code, stdout, stderr } = await run(...given);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, sentence);
  }
});

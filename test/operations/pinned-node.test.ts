import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, test } from 'node:test';

const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
const programs = join(folder, 'node_modules', '.bin');
mkdirSync(programs, { recursive: true });
cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
after(() => rmSync(folder, { recursive: true }));

/** What the system makes of a Node whose library is not there. */
const complaint =
  'node: error while loading shared libraries: libatomic.so.1: cannot open shared object file';
writeFileSync(join(programs, 'node'), `#!/bin/sh\necho '${complaint}' >&2\nexit 127\n`);
chmodSync(join(programs, 'node'), 0o755);

const onWindows = process.platform === 'win32' && 'there the start is another one';

test('on an old Node, a pinned one that cannot be loaded ends in a sentence on what to install', {
  skip: onWindows,
}, () => {
  const older = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.19.0'}})`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', older, join(folder, 'bin', 'signet.mjs'), '--version'],
    { encoding: 'utf8' },
  );
  assert.deepEqual([status, stdout], [1, '']);
  const [first, second, ...more] = stderr.split('\n');
  assert.equal(first, complaint);
  assert.match(second ?? '', /apt-get install libatomic1/);
  assert.deepEqual(more, ['']);
});

test('npm start goes on with the own Node of the machine where the pinned one cannot be loaded', {
  skip: onWindows,
}, () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { status, stderr } = spawnSync('sh', ['-c', scripts.start], {
    cwd: root,
    encoding: 'utf8',
    env: {
      PATH: `${programs}${delimiter}${process.env['PATH']}`,
      npm_node_execpath: process.execPath,
      SIGNET_PORT: 'none',
    },
  });
  assert.equal(status, 1);
  assert.match(stderr, /^The configuration has problems:\n {2}SIGNET_PORT/);
});

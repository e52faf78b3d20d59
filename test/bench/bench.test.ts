import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { selfTimes } from '../../bench/profile.ts';

const folder = mkdtempSync(join(tmpdir(), 'signet-bench-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const SMALLEST = [
  '--samples',
  '1',
  '--seconds',
  '0.1',
  '--settle',
  '0',
  '--only',
  'tokens,introspections,costs,start',
];

interface Results {
  machine: Record<string, unknown>;
  versions: Record<string, string>;
  sections: {
    name: string;
    measures: { name: string; figures: (number | null)[]; median: number | null }[];
  }[];
}

test('the benchmark measures tokens, introspections, costs and starts beside a peer and writes them down', async () => {
  const script = join(import.meta.dirname, '../../bench/run.ts');
  const options = [...SMALLEST, '--peers', 'oauth2-server', '--folder', folder];
  await promisify(execFile)(process.execPath, [script, ...options]);

  const results = JSON.parse(readFileSync(join(folder, 'latest.json'), 'utf8')) as Results;
  const sections = results.sections.map(({ name }) => name.split(':')[0]);
  const onLinux = process.platform === 'linux' ? ['costs'] : [];
  for (const name of ['tokens', 'introspections', ...onLinux, 'start']) {
    assert.ok(sections.includes(name), `${name} is missing`);
  }
  for (const { measures } of results.sections) {
    for (const { name, figures, median } of measures) {
      assert.ok(figures.length > 0, name);
      assert.ok(typeof median === 'number' && median > 0, `${name} is ${median}`);
    }
  }
  assert.equal(results.versions['node'], process.versions.node);
  assert.ok(Number(results.machine['cores']) > 0);

  const page = readFileSync(join(folder, 'latest.md'), 'utf8');
  for (const row of [
    'C: JWTs/s',
    'tokens/s over C',
    'tokens/s over @node-oauth/oauth2-server, the fastest',
  ]) {
    assert.match(page, new RegExp(`\\| .*${row.replaceAll('/', '\\/')}.* \\| .* \\|`));
  }
});

test('a profile counts the time of each function within the window alone', () => {
  const frame = (functionName: string) => ({ functionName, url: '', lineNumber: 0 });
  const profile = {
    nodes: [
      { id: 1, callFrame: frame('before') },
      { id: 2, callFrame: frame('work') },
      { id: 3, callFrame: frame('after') },
    ],
    startTime: 1000,
    samples: [1, 2, 2, 3],
    timeDeltas: [10, 20, 30, 40],
  };
  assert.deepEqual([...selfTimes(profile, { from: 1015, to: 1065 })], [['work', 70]]);
});

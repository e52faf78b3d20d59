import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, test } from 'node:test';
import { findProblems, lockedForProduction, nameOf } from '../../scripts/supply-chain.ts';

const folder = mkdtempSync(join(tmpdir(), 'signet-supply-'));
after(() => rmSync(folder, { recursive: true }));

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
  'dependencies' | 'optionalDependencies' | 'devDependencies',
  Record<string, string>
>;

test('docs/decisions says of every dependency why it is there, and of no other', () => {
  const record = readFileSync('docs/decisions/0011-dependencies.md', 'utf8');
  const explained = record
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1]));
  const { dependencies, optionalDependencies, devDependencies } = manifest;
  const declared = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies });
  assert.deepEqual(explained.toSorted(), declared.toSorted());
});

test('what runs in production has a permissive licence and runs nothing when it is installed', () => {
  const packages = lockedForProduction();
  assert.deepEqual(findProblems(packages), []);
  const { dependencies, optionalDependencies } = manifest;
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    assert.ok(packages[`node_modules/${name}`], name);
  }
});

for (const [what, locked, installed, problem] of [
  ['a licence that is not on the list', { license: 'GPL-3.0-only' }, null, /GPL-3\.0-only/],
  ['no licence', {}, null, /undefined/],
  ['another licence than the lockfile says', { license: 'MIT' }, { license: 'SSPL-1.0' }, /SSPL-1\.0/],
  [
    'an install script that the lockfile names',
    { license: 'MIT', hasInstallScript: true },
    null,
    /runs code/,
  ],
  [
    'an install script that it conceals',
    { license: 'MIT' },
    { license: 'MIT', scripts: { postinstall: 'node x' } },
    /runs code/,
  ],
  ['code to compile', { license: 'MIT' }, { license: 'MIT', gypfile: true }, /runs code/],
] as const) {
  test(`a package with ${what} is found`, () => {
    const path = what.replaceAll(' ', '-');
    mkdirSync(join(folder, path));
    if (installed !== null) writeFileSync(join(folder, path, 'package.json'), JSON.stringify(installed));
    if (what === 'code to compile') writeFileSync(join(folder, path, 'binding.gyp'), '{}');
    const [found, ...more] = findProblems({ [path]: locked }, folder);
    assert.match(found ?? '', problem);
    assert.deepEqual(more, []);
  });
}

for (const [what, answer, code, told] of [
  ['nothing is known', { metadata: { vulnerabilities: { high: 0, total: 0 } } }, 0, /nothing is known/],
  ['a vulnerability is known', { metadata: { vulnerabilities: { high: 1, total: 1 } } }, 1, /1 high/],
  ['the registry has no audit', { message: '405 Method Not Allowed' }, 3, /does not answer it \(405/],
] as const) {
  test(`npm run supply ends with ${code} where ${what}`, () => {
    writeFileSync(join(folder, 'npm'), `#!/bin/sh\necho '${JSON.stringify(answer)}'\n`);
    chmodSync(join(folder, 'npm'), 0o755);
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/supply.ts'], {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH']}` },
    });
    assert.match(stdout + stderr, told);
    assert.equal(status, code);
  });
}

test('npm run sbom lists every package that runs in production, and no other', () => {
  const { stdout } = spawnSync(process.execPath, ['scripts/sbom.ts'], { encoding: 'utf8' });
  const { bomFormat, metadata, components, dependencies } = JSON.parse(stdout);
  assert.deepEqual([bomFormat, metadata.component.name], ['CycloneDX', 'signet']);
  const listed: string[] = components.map((each: Component) => `${each.name}@${each.version}`);
  const expected = Object.entries(lockedForProduction()).map(
    ([path, { version }]) => `${nameOf(path)}@${version}`,
  );
  assert.deepEqual(listed.toSorted(), [...new Set(expected)].toSorted());
  assert.ok(components.every((each: Component) => each.hashes.length > 0 && each.licenses.length > 0));
  assert.equal(dependencies.length, listed.length + 1);
});

interface Component {
  name: string;
  version: string;
  hashes: unknown[];
  licenses: unknown[];
}

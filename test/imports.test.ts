import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';

/** From the ground up; a folder imports from its own floor and those below it. */
const floors: ReadonlyArray<readonly string[]> = [
  ['clock', 'errors', 'ids', 'encryption', 'basic-credentials', 'version', 'schema'],
  ['db', 'metrics', 'workers', 'log', 'processes'],
  ['audit', 'events', 'master-key'],
  ['admin', 'agents', 'keys', 'organizations', 'webhooks'],
  ['oauth'],
  ['open-database'],
  ['config', 'settings'],
  ['open-keys'],
  ['http'],
  ['service'],
  ['cli'],
  ['main'],
];

const files = globSync('src/**/*.ts');

test('imports point down only', () => {
  for (const file of files) {
    for (const imported of importsOf(file)) {
      assert.ok(floorOf(imported) <= floorOf(file), `${file} imports ${imported}, which is above it`);
    }
  }
});

test('the environment is read in one place', () => {
  const readers = files.filter((file) => readFileSync(file, 'utf8').includes('process.env'));
  assert.deepEqual(readers, ['src/config.ts']);
});

for (const [database, allowed] of [
  ['sqlite', ['src/cli/backup.ts', 'src/cli/database.ts', 'src/open-database.ts']],
  // The settings know which URLs can be kept.
  ['postgres', ['src/cli/database.ts', 'src/open-database.ts', 'src/settings.ts']],
] as const) {
  test(`${database} is known to src/db, the stores of the hot paths and what opens it alone`, () => {
    const knowing = files.filter((file) =>
      importsOf(file).some((name) => name.startsWith(`src/db/${database}`)),
    );
    const isOfStore = (file: string) => file.startsWith('src/db/') || file.endsWith(`.${database}.ts`);
    assert.deepEqual(knowing.filter((file) => !isOfStore(file)).sort(), allowed);
  });
}

test('one half of a hot-path port never knows the other', () => {
  for (const file of files.filter((name) => /\.(sqlite|postgres)\.ts$/.test(name))) {
    const other = file.endsWith('.sqlite.ts') ? 'postgres' : 'sqlite';
    assert.equal(
      importsOf(file).some((name) => name.includes(other)),
      false,
      file,
    );
  }
});

function importsOf(file: string): string[] {
  const source = readFileSync(file, 'utf8');
  return [...source.matchAll(/(?:from |import\()'(\.[^']+)'/g)]
    .map((match) => normalize(join(dirname(file), match[1] ?? '')))
    .filter((path) => path.startsWith('src/'));
}

function floorOf(file: string): number {
  const name = (file.split('/')[1] ?? '').replace('.ts', '');
  const floor = floors.findIndex((names) => names.includes(name));
  assert.ok(floor >= 0, `${file} is on no floor`);
  return floor;
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

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

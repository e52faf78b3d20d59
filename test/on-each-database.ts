import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Loaded before each test file (`--import`). A file that starts services runs once for each database, in one process:
 * in its place comes a module that loads it once per database, each time in a suite of its own. By the query in its
 * URL Node takes the file for another one each time, and what it imports for the same.
 */

const file = resolve(process.argv[1] ?? '');
const entry = pathToFileURL(file).href;

if (file.endsWith('.test.ts') && !hasItsOwnWay(file) && startsServices(file)) {
  registerHooks({
    load: (url, context, nextLoad) =>
      url === entry ? { format: 'module', shortCircuit: true, source: loader() } : nextLoad(url, context),
  });
}

/**
 * The conformance suite, the attacks, the faults and the fuzzing run on each database by themselves, where it matters; the limits
 * hold before a database is asked; the commands of the documentation, instances, several processes and outages are for
 * one; the browser that looks at the page of operations unpacks itself once in a process; only a SQLite file is backed
 * up; guesses are counted in memory; and arguments and the environment are read before a database is opened.
 */
function hasItsOwnWay(path: string): boolean {
  const folders = ['attacks', 'db', 'docs', 'faults', 'fuzz', 'instances', 'limits', 'outage', 'processes'];
  const files = [
    'docs-page.test.ts',
    'backup.test.ts',
    'slowed-guessing.test.ts',
    'command-line.test.ts',
    'environment.test.ts',
  ];
  return folders.includes(basename(dirname(path))) || files.includes(basename(path));
}

function startsServices(path: string, seen = new Set<string>()): boolean {
  seen.add(path);
  const source = readFileSync(path, 'utf8');
  if (/\b(startService|startChild|runChild|createTestDatabase)\(/.test(source)) return true;
  return [...source.matchAll(/from '(\.[^']+)'/g)]
    .map((match) => join(dirname(path), match[1] ?? ''))
    .filter((helper) => !/\/src\/|\/(harness|child)\.ts$/.test(helper) && !seen.has(helper))
    .some((helper) => startsServices(helper, seen));
}

function loader(): string {
  const databases = pathToFileURL(join(import.meta.dirname, 'databases.ts')).href;
  return `
    import { before, describe } from 'node:test';
    import { databaseKinds, useDatabase } from '${databases}';
    for (const kind of databaseKinds) {
      describe(kind, async () => {
        before(() => useDatabase(kind));
        await import('${entry}?database=' + kind);
      });
    }`;
}

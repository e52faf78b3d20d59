import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Loaded before a test file (`--import`). In its place comes a module that loads it in a suite of its own: once for each
 * database where it starts services, and together with the others of its group, which `run.ts` names. By the query in
 * its URL Node takes the file for another one each time, and what it imports for the same.
 */

const entry = resolve(process.argv[1] ?? '');
const groups = JSON.parse(process.env['TEST_GROUPS'] ?? '[]') as string[][];

if (entry.endsWith('.test.ts')) {
  const files = groups.find(([first]) => first === entry) ?? [entry];
  const entryUrl = pathToFileURL(entry).href;
  registerHooks({
    load: (url, context, nextLoad) =>
      url === entryUrl
        ? { format: 'module', shortCircuit: true, source: loaderOf(files) }
        : nextLoad(url, context),
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

function loaderOf(files: readonly string[]): string {
  const suites = files.map((file) => ({
    title: relative(process.cwd(), file),
    url: pathToFileURL(file).href,
    isOnEach: !hasItsOwnWay(file) && startsServices(file),
  }));
  return `
    import { after, before, describe } from 'node:test';
    import { databaseKinds, useDatabase } from '${sibling('databases.ts')}';
    import { refillSigningKeys } from '${sibling('signing-keys.ts')}';
    let running = 'loading the files';
    after(() => {
      running = '';
    });
    // With status 0 Node would take the tests that are left for none.
    process.on('exit', () => {
      if (running === '') return;
      console.error('The process ended amid ' + running);
      process.exitCode ||= 1;
    });
    for (const { title, url, isOnEach } of ${JSON.stringify(suites)}) {
      for (const kind of isOnEach ? databaseKinds : databaseKinds.slice(0, 1)) {
        describe(isOnEach ? title + ' on ' + kind : title, async () => {
          before(() => {
            running = title;
            useDatabase(kind);
            refillSigningKeys();
          });
          await import(url + '?database=' + kind);
        });
      }
    }`;
}

function sibling(name: string): string {
  return pathToFileURL(join(import.meta.dirname, name)).href;
}

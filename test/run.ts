import { globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { globalSetup, globalTeardown } from './setup.ts';

/**
 * Runs all test files, or those that are named, in a few processes. With a process for each file, half of the time went
 * into loading the same modules and running them before they were optimized.
 */

const PROCESSES_AT_ONCE = 4;
/** More of them than run at once, so that all end at about the same time. */
const GROUPS = 16;
const TEST_MILLISECONDS = 120_000;

async function main(): Promise<void> {
  const named = process.argv.slice(2);
  const groups = deal((named.length > 0 ? named : globSync('test/**/*.test.ts')).toSorted());
  // A process is started with the first file of its group; `on-each-database.ts` finds the others here.
  process.env['TEST_GROUPS'] = JSON.stringify(groups);
  await globalSetup();
  try {
    await pipeline(runGroups(groups).compose(spec), process.stdout, { end: false });
  } finally {
    await globalTeardown();
  }
}

/** Neighbours, which are alike, go into different groups. */
function deal(files: readonly string[]): string[][] {
  const count = Math.min(GROUPS, Math.ceil(files.length / PROCESSES_AT_ONCE));
  return Array.from({ length: count }, (_, group) =>
    files.filter((_file, index) => index % count === group).map((file) => resolve(file)),
  );
}

function runGroups(groups: readonly string[][]): ReturnType<typeof run> {
  const stream = run({
    files: groups.flatMap((group) => group.slice(0, 1)),
    execArgv: ['--import', join(import.meta.dirname, 'on-each-database.ts')],
    concurrency: PROCESSES_AT_ONCE,
    timeout: TEST_MILLISECONDS,
  });
  return stream.on('test:fail', () => {
    process.exitCode = 1;
  });
}

await main();

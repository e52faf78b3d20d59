import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { globalSetup, globalTeardown } from '../setup.ts';

/** `npm run fuzz -- --seconds 300 --seed 1`: generated requests, then races, on each database. */

const LONGEST_STALL_MILLISECONDS = 100;
/** The part of the time that is for races. */
const RACES_PART = 0.25;
const RACES = 5;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '180' }, seed: { type: 'string' } },
  });
  const seconds = Number(values.seconds);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  await globalSetup();
  try {
    const isQuiet = await fuzzEach(seconds * (1 - RACES_PART), seed);
    const areRacesWon = await race(seconds * RACES_PART);
    if (!isQuiet || !areRacesWon) process.exitCode = 1;
  } finally {
    await globalTeardown();
  }
}

async function fuzzEach(seconds: number, seed: number): Promise<boolean> {
  const { databaseKinds, useDatabase } = await import('../databases.ts');
  const { fuzz } = await import('./fuzz.ts');
  let longest = 0;
  for (const kind of databaseKinds) {
    console.log(`${kind}: seed ${seed}`);
    useDatabase(kind);
    const { requests, rounds, statuses, longestStall } = await fuzz({
      seconds: seconds / databaseKinds.length,
      seed,
    });
    console.log(`  ${requests} requests in ${rounds} rounds: ${JSON.stringify(statuses)}`);
    console.log(`  the event loop was held up for ${Math.round(longestStall)} ms at most`);
    longest = Math.max(longest, longestStall);
  }
  if (longest > LONGEST_STALL_MILLISECONDS)
    console.error(`That is more than ${LONGEST_STALL_MILLISECONDS} ms, which a quiet machine does not need.`);
  return longest <= LONGEST_STALL_MILLISECONDS;
}

/** In a process of its own, under the runner that its tests need. */
async function race(seconds: number): Promise<boolean> {
  const { databaseKinds } = await import('../databases.ts');
  const TEST_RACE_SECONDS = String(seconds / RACES / databaseKinds.length);
  const file = join(import.meta.dirname, '..', 'attacks', 'races.test.ts');
  const child = spawn(process.execPath, ['--test', file], {
    stdio: 'inherit',
    env: { ...process.env, TEST_RACE_SECONDS },
  });
  const [code] = await once(child, 'close');
  return code === 0;
}

await main();

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { globalSetup, globalTeardown } from '../setup.ts';

/** `npm run fuzz -- --seconds 300 --seed 1`: generated requests, then races, on each database. */

const LONGEST_STALL_MILLISECONDS = 100;
const REPLAYS = 3;
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
  let isQuiet = true;
  for (const kind of databaseKinds) {
    console.log(`${kind}: seed ${seed}`);
    useDatabase(kind);
    const report = await fuzz({ seconds: seconds / databaseKinds.length, seed });
    console.log(
      `  ${report.requests} requests in ${report.rounds} rounds: ${JSON.stringify(report.statuses)}`,
    );
    console.log(
      `  the event loop was held up for ${Math.round(report.longestStall)} ms, by seed ${report.stallSeed}`,
    );
    let stall = report.longestStall;
    // What a request does, it does again; what else goes on in the machine seldom comes three times.
    for (let again = 0; again < REPLAYS && stall > LONGEST_STALL_MILLISECONDS; again += 1) {
      stall = (await fuzz({ seconds: 0, seed: report.stallSeed })).longestStall;
      console.log(`  again: ${Math.round(stall)} ms`);
    }
    isQuiet &&= stall <= LONGEST_STALL_MILLISECONDS;
  }
  if (!isQuiet)
    console.error(`A request holds the event loop up for more than ${LONGEST_STALL_MILLISECONDS} ms.`);
  return isQuiet;
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

import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { askForToken } from '../changes.ts';
import { Caller, Unknown } from '../chaos/caller.ts';
import { isActive } from '../chaos/history.ts';
import { createRandom } from '../chaos/random.ts';
import { adminEnv, type Child, type ChildFolder, childFolder, startChild } from '../child.ts';
import { send } from '../harness.ts';
import { globalSetup, globalTeardown } from '../setup.ts';
import { startReceiver } from '../webhooks/faults/receiver.ts';
import { growthOf, type Sample, takeSample } from './samples.ts';

/**
 * `npm run soak -- --minutes 30 --database sqlite`: the same mixed load all the time against the real process, with a
 * receiver of webhooks that fails sometimes. Ends with what was measured, and with 1 where memory, handles or descriptors
 * have grown.
 */

const CALLERS = 4;
/** Of each caller, between two requests: steady, and not as much as the machine can do. */
const PAUSE_MILLISECONDS = 15;
/** As many tokens are verified before anything is measured: caches that fill look like memory that leaks. */
const WARMING_TOKENS = 22_000;
const WARMING_CALLERS = 12;
const SAMPLES = 120;
const SHORTEST_STEP_MILLISECONDS = 2000;
/** The receiver refuses so many, and says nothing to so many more. */
const REFUSED = 0.08;
const SILENT = 0.0005;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '30' },
      seed: { type: 'string', default: '1' },
      database: { type: 'string', default: 'sqlite' },
    },
  });
  process.env['SIGNET_TEST_DATABASES'] = values.database;
  await globalSetup();
  const folder = childFolder();
  try {
    const samples = await soak(folder, Number(values.minutes) * 60, createRandom(Number(values.seed)));
    if (!report(samples)) process.exitCode = 1;
  } finally {
    await folder.remove();
    await globalTeardown();
  }
}

async function soak(folder: ChildFolder, seconds: number, random: () => number): Promise<Sample[]> {
  const receiver = await startReceiver((response) => {
    const dice = random();
    // What it has seen is nothing that this program looks at, and would fill its memory.
    receiver.seen.length = 0;
    if (dice >= SILENT) response.writeHead(dice < SILENT + REFUSED ? 500 : 204).end();
  });
  const child = await startChild({ folder, env: { ...adminEnv, SIGNET_LOG_LEVEL: 'fatal' } });
  await fillCaches(child);
  await subscribe(child, receiver.url);
  const counts: Record<string, number> = {};
  const end = performance.now() + seconds * 1000;
  const callers = Array.from({ length: CALLERS }, () => runCaller(child, { end, random, counts }));
  const sampling = sampleUntil(child, { end, seconds, dataDir: join(folder.path, 'data') });
  const [samples] = await Promise.all([sampling, ...callers]);
  console.log(JSON.stringify(counts));
  const { code } = await child.kill('SIGTERM');
  await receiver.close();
  if (code !== 0) throw new Error(`The service ended with ${code}.`);
  return samples;
}

/** Tokens are remembered once they were verified, up to a number. */
async function fillCaches({ url }: Child): Promise<void> {
  const { body } = await send(url, 'POST', '/api/agents', { admin: true, json: { name: 'warming' } });
  let left = WARMING_TOKENS;
  const warm = async () => {
    while (left > 0) {
      left -= 1;
      const token = await askForToken(url, { clientId: body.client_id }, body.client_secret);
      await isActive(url, token.body.access_token);
    }
  };
  await Promise.all(Array.from({ length: WARMING_CALLERS }, warm));
}

async function subscribe(child: Child, url: string): Promise<void> {
  const json = { name: 'soak', url, events: ['*'], max_retries: 5 };
  const { status } = await send(child.url, 'POST', '/api/webhooks', { admin: true, json });
  if (status !== 201) throw new Error(`The webhook was answered ${status}.`);
}

interface Load {
  end: number;
  random: () => number;
  counts: Record<string, number>;
}

async function runCaller(child: Child, { end, random, counts }: Load): Promise<void> {
  const count = (kind: string) => {
    counts[kind] = (counts[kind] ?? 0) + 1;
  };
  const caller = new Caller({ url: () => child.url, random, onAcknowledged: count });
  while (performance.now() < end) {
    try {
      await caller.step();
    } catch (error) {
      if (!(error instanceof Unknown) || child.process.exitCode !== null) throw error;
      count('unknown');
    }
    // Nobody restarts here, so nobody asks for them again.
    caller.retired.length = 0;
    caller.created.length = 0;
    await wait(PAUSE_MILLISECONDS);
  }
}

interface Span {
  end: number;
  seconds: number;
  dataDir: string;
}

async function sampleUntil(child: Child, { end, seconds, dataDir }: Span): Promise<Sample[]> {
  const samples: Sample[] = [];
  const step = Math.max(SHORTEST_STEP_MILLISECONDS, (seconds * 1000) / SAMPLES);
  const place = { url: child.url, pid: Number(child.process.pid), dataDir };
  const started = performance.now();
  while (performance.now() + step < end) {
    await wait(step);
    samples.push(await takeSample(place, (performance.now() - started) / 1000));
  }
  return samples;
}

function report(samples: readonly Sample[]): boolean {
  const every = Math.max(1, Math.floor(samples.length / 12));
  console.table(samples.filter((_, index) => index % every === every - 1).map(rounded));
  const growth = growthOf(samples);
  console.table(growth.map(rounded));
  const isFlat = growth.every((one) => one.isFlat);
  console.log(isFlat ? 'Nothing grows.' : 'Something grows: compare the last quarter with the second.');
  return isFlat;
}

const rounded = (row: object): object =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'number' ? Math.round(value * 10) / 10 : value,
    ]),
  );

await main();

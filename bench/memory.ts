import { setTimeout as sleep } from 'node:timers/promises';
import { loadFrom, mint, startLoad } from './bench.ts';
import type { Measure } from './measure.ts';
import type { BenchOptions } from './options.ts';
import type { Contestant } from './peers/peer.ts';
import { type SignetOptions, startSignet } from './signet.ts';
import { readResidentMegabytes } from './usage.ts';

/** Tokens are asked for in steps, so that growth shows. */
const STEPS = 4;
/** What the load is told at once. */
const CHUNK = 10_000;

/** Resident memory of a fresh process on the database that `earlier` has left, and while it issues many tokens. */
export async function measureMemory(
  place: SignetOptions,
  earlier: Contestant,
  options: BenchOptions,
): Promise<Measure[]> {
  if (process.platform !== 'linux') return [];
  const { pid, origin, stop } = await startSignet(place);
  const prefix = `${earlier.name}: memory`;
  try {
    await sleep(options.settleMilliseconds);
    const idle = readResidentMegabytes(pid) ?? Number.NaN;
    const busy = await whileIssuing({ ...earlier, pid, origin }, options);
    return [
      { name: `${prefix}, idle`, unit: 'MB', figures: [idle], aim: { atMost: 100 } },
      ...busy.map(
        ({ tokens, megabytes }): Measure => ({
          name: `${prefix} after ${tokens.toLocaleString('en')} tokens`,
          unit: 'MB',
          figures: [megabytes],
        }),
      ),
    ];
  } finally {
    await stop();
  }
}

async function whileIssuing(signet: Contestant, { connections, memoryTokens }: BenchOptions) {
  const readings: { tokens: number; megabytes: number }[] = [];
  const process = startLoad();
  const load = loadFrom(process, { connections });
  let tokens = 0;
  for (let step = 1; step <= STEPS; step++) {
    const goal = Math.ceil((memoryTokens * step) / STEPS);
    while (tokens < goal) tokens += (await mint(load, signet, Math.min(CHUNK, goal - tokens))).length;
    readings.push({ tokens, megabytes: readResidentMegabytes(signet.pid) ?? Number.NaN });
  }
  await process.stop();
  return readings;
}

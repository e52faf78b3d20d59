import { setTimeout as sleep } from 'node:timers/promises';
import { databaseName, loadFrom, mint, startLoad, toContestant } from './bench.ts';
import type { Measure } from './measure.ts';
import type { BenchOptions } from './options.ts';
import type { Contestant } from './peers/peer.ts';
import { createClients, startSignet, withFolder } from './signet.ts';
import { readResidentMegabytes } from './usage.ts';

/** Tokens are asked for in steps, so that growth shows. */
const STEPS = 4;
/** What the load is told at once. */
const CHUNK = 10_000;

/** Resident memory of a fresh process on an existing database, and of one that has issued many tokens. */
export async function measureMemory(database: string, options: BenchOptions): Promise<Measure[]> {
  if (process.platform !== 'linux') return [];
  return withFolder(async (folder) => {
    const first = await startSignet({ database, folder });
    await createClients(first, 1);
    await first.stop();
    const service = await startSignet({ database, folder });
    const prefix = `Signet, ${databaseName(database)}: memory`;
    try {
      await sleep(options.settleMilliseconds);
      const idle = readResidentMegabytes(service.pid) ?? Number.NaN;
      const busy = await whileIssuing(await toContestant(service, ''), options);
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
      await service.stop();
    }
  });
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

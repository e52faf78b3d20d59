import { setTimeout as sleep } from 'node:timers/promises';
import { databaseName } from './bench.ts';
import { from, type Measure, sampled } from './measure.ts';
import { type BenchClient, tokenRequest } from './requests.ts';
import {
  createClients,
  type SignetOptions,
  spawnSignet,
  startSignet,
  stopSignet,
  withFolder,
} from './signet.ts';

const POLL_MILLISECONDS = 2;

/** From the spawn of the process to the first token, on a database that is there already. */
export async function measureColdStart(database: string, count: number): Promise<Measure[]> {
  const times = await withFolder(async (folder) => {
    const client = await prepare({ database, folder });
    return sampled(count, () => timeToFirstToken({ database, folder }, client));
  });
  const name = `Signet, ${databaseName(database)}: process start to first token`;
  return [from(times)(name, 'ms', (time) => time, { atMost: 500 })];
}

async function prepare(place: SignetOptions): Promise<BenchClient> {
  const signet = await startSignet(place);
  const [client] = await createClients(signet, 1);
  await signet.stop();
  if (client === undefined) throw new Error('No agent was made.');
  return client;
}

async function timeToFirstToken(place: SignetOptions, client: BenchClient): Promise<number> {
  const { path, ...init } = tokenRequest('/oauth/token')(client);
  const started = performance.now();
  const { child, origin } = await spawnSignet(place);
  try {
    while (child.exitCode === null) {
      const response = await fetch(origin + path, init).catch(() => null);
      if (response?.status === 200) return performance.now() - started;
      await sleep(POLL_MILLISECONDS);
    }
    throw new Error('Signet has ended before its first token.');
  } finally {
    await stopSignet(child);
  }
}

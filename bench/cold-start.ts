import { setTimeout as sleep } from 'node:timers/promises';
import { from, type Measure, sampled } from './measure.ts';
import type { Contestant } from './peers/peer.ts';
import { type SignetOptions, spawnSignet, stopSignet } from './signet.ts';

const POLL_MILLISECONDS = 2;

/** From the spawn of the process to the first token, on the database that `earlier` has left. */
export async function measureColdStart(
  place: SignetOptions,
  earlier: Contestant,
  count: number,
): Promise<Measure[]> {
  const times = await sampled(count, () => timeToFirstToken(place, earlier));
  const name = `${earlier.name}: process start to first token`;
  return [from(times)(name, 'ms', (time) => time, { atMost: 500 })];
}

async function timeToFirstToken(place: SignetOptions, { tokenRequests }: Contestant): Promise<number> {
  const { path = '', ...init } = tokenRequests[0] ?? {};
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

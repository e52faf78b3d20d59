import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { send } from '../harness.ts';

/** What must not grow while a service does the same all the time, and what tells how it went. */
export interface Sample {
  seconds: number;
  rssMegabytes: number;
  heapMegabytes: number;
  /** What the engine has reserved for its heap, and what lies outside of it. */
  reservedMegabytes: number;
  externalMegabytes: number;
  handles: number;
  descriptors: number;
  lagP99Milliseconds: number;
  walMegabytes: number;
  waiting: number;
}

const MEGABYTE = 1024 * 1024;

export async function takeSample(
  place: { url: string; pid: number; dataDir: string },
  seconds: number,
): Promise<Sample> {
  const { body } = await send(place.url, 'GET', '/metrics');
  const metric = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1] ?? 0);
  const wal = statSync(join(place.dataDir, 'signet.db-wal'), { throwIfNoEntry: false });
  return {
    seconds: Math.round(seconds),
    rssMegabytes: metric('process_resident_memory_bytes') / MEGABYTE,
    heapMegabytes: metric('nodejs_heap_size_used_bytes') / MEGABYTE,
    reservedMegabytes: metric('nodejs_heap_size_total_bytes') / MEGABYTE,
    externalMegabytes: metric('nodejs_external_memory_bytes') / MEGABYTE,
    handles: metric('nodejs_active_handles_total'),
    descriptors: openDescriptors(place.pid) ?? metric('process_open_fds'),
    lagP99Milliseconds: metric('nodejs_eventloop_lag_p99_seconds') * 1000,
    walMegabytes: (wal?.size ?? 0) / MEGABYTE,
    waiting: metric('signet_webhook_deliveries_waiting'),
  };
}

function openDescriptors(pid: number): number | null {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return null;
  }
}

/** What may be more in the last quarter than in the second: a part of it, and a bit that is nothing. */
const TOLERANCES = {
  rssMegabytes: { part: 0.15, absolute: 16 },
  heapMegabytes: { part: 0.25, absolute: 12 },
  handles: { part: 0.2, absolute: 8 },
  descriptors: { part: 0.1, absolute: 8 },
} as const satisfies Partial<Record<keyof Sample, { part: number; absolute: number }>>;

export interface Growth {
  what: string;
  secondQuarter: number;
  lastQuarter: number;
  most: number;
  isFlat: boolean;
}

/** Medians of the second and the last quarter: the first one warms up. */
export function growthOf(samples: readonly Sample[]): Growth[] {
  const quarter = Math.floor(samples.length / 4);
  const [second, last] = [samples.slice(quarter, 2 * quarter), samples.slice(-quarter)];
  return Object.entries(TOLERANCES).map(([what, { part, absolute }]) => {
    const read = (sample: Sample) => sample[what as keyof typeof TOLERANCES];
    const [secondQuarter, lastQuarter] = [median(second.map(read)), median(last.map(read))];
    const most = secondQuarter + Math.max(secondQuarter * part, absolute);
    return { what, secondQuarter, lastQuarter, most, isFlat: lastQuarter <= most };
  });
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

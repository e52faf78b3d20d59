import { readdirSync, readFileSync } from 'node:fs';

/** CPU time in microseconds since the process started. */
export interface Usage {
  main: number;
  /** libuv's pool: for a token service the signatures, as long as its store waits for no file or name. */
  pool: number;
  /** All threads, those of the garbage collector and the compiler too. */
  all: number;
}

/** Of each thread, as the scheduler counts it; null where there is no /proc. */
export function readUsage(pid: number): Usage | null {
  if (process.platform !== 'linux') return null;
  const usage = { main: 0, pool: 0, all: 0 };
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`;
    const microseconds = Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ')[0]) / 1000;
    usage.all += microseconds;
    if (thread === String(pid)) usage.main += microseconds;
    if (readFileSync(`${folder}/comm`, 'utf8').startsWith('libuv-worker')) usage.pool += microseconds;
  }
  return usage;
}

export const usageSince = (before: Usage | null, after: Usage | null): Usage | null =>
  before && after
    ? { main: after.main - before.main, pool: after.pool - before.pool, all: after.all - before.all }
    : null;

/** Resident memory in MB (10⁶ bytes); null where there is no /proc. */
export function readResidentMegabytes(pid: number): number | null {
  if (process.platform !== 'linux') return null;
  const kibibytes = /^VmRSS:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return (Number(kibibytes) * 1024) / 1e6;
}

/** CPU time in microseconds of a process and of those that it has started, by their identifiers. */
export function readTreeUsage(parent: number | undefined): Map<number, number> {
  if (parent === undefined || process.platform !== 'linux') return new Map();
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === parent);
  return new Map([parent, ...children.map(Number)].map((pid) => [pid, usageOfLiving(pid)]));
}

/** What those that still run have used since. */
export const treeUsageSince = (before: Map<number, number>, after: Map<number, number>): number =>
  [...after].reduce((sum, [pid, used]) => sum + used - (before.get(pid) ?? 0), 0);

function parentOf(pid: string): number | null {
  return readIfThere(() => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]));
}

const usageOfLiving = (pid: number): number => readIfThere(() => readUsage(pid)?.all ?? 0) ?? 0;

/** A process may end while its files are read. */
function readIfThere<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

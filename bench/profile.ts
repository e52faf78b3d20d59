import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endlessTokens, type Job, type Loaded, loadFrom, startLoad, toContestant } from './bench.ts';
import type { BenchOptions } from './options.ts';
import type { Contestant } from './peers/peer.ts';
import { introspection } from './requests.ts';
import { startSignet, withFolder } from './signet.ts';

/** Where the main thread spends its time on the two hot paths, by V8's sampling profiler. */

interface CpuProfile {
  nodes: readonly {
    id: number;
    callFrame: { functionName: string; url: string; lineNumber: number };
  }[];
  /** Microseconds of the same monotonic clock as `process.hrtime`. */
  startTime: number;
  samples: readonly number[];
  timeDeltas: readonly number[];
}

interface Window {
  from: number;
  to: number;
  requests: number;
}

const TOP = 25;
const INTERVAL_MICROSECONDS = 200;
const INTROSPECTED = 4000;
const here = join(import.meta.dirname, '..');

export async function printProfiles(options: BenchOptions): Promise<void> {
  const [database = 'sqlite'] = options.databases;
  const kept = join(options.folder, 'latest.cpuprofile');
  const windows = await withFolder(async (folder) => {
    const profiles = join(folder, 'profiles');
    const taken = await underProfile({ database, data: folder, profiles }, options);
    mkdirSync(options.folder, { recursive: true });
    copyFileSync(join(profiles, readdirSync(profiles)[0] ?? ''), kept);
    return taken;
  });
  const profile = JSON.parse(readFileSync(kept, 'utf8')) as CpuProfile;
  for (const [path, window] of Object.entries(windows)) printTop(path, profile, window);
  console.log(`\n${kept} opens in the developer tools of Chrome.`);
}

async function underProfile(
  { database, data, profiles }: { database: string; data: string; profiles: string },
  options: BenchOptions,
): Promise<Record<'tokens' | 'introspections', Window>> {
  const interval = `--cpu-prof-interval=${INTERVAL_MICROSECONDS}`;
  const nodeOptions = ['--cpu-prof', `--cpu-prof-dir=${profiles}`, interval];
  const service = await startSignet({ database, folder: data, nodeOptions });
  const process = startLoad();
  try {
    const signet = await toContestant(service, 'Signet');
    const load = loadFrom(process, options);
    const tokenJob = { ...endlessTokens(signet), milliseconds: 2 * options.milliseconds };
    const { accessTokens } = await load(signet, tokenJob);
    await load(signet, { requests: accessTokens.slice(0, 500).map(introspection), expects: 'active' });
    const issued = await timed(load, signet, tokenJob);
    const unseen = [...accessTokens.slice(500), ...issued.accessTokens].slice(0, INTROSPECTED);
    const introspected = await timed(load, signet, {
      requests: unseen.map(introspection),
      expects: 'active',
    });
    return { tokens: issued.window, introspections: introspected.window };
  } finally {
    await process.stop();
    await service.stop();
  }
}

async function timed(
  load: (contestant: Contestant, job: Job) => Promise<Loaded>,
  signet: Contestant,
  job: Job,
): Promise<Loaded & { window: Window }> {
  const from = nowMicroseconds();
  const loaded = await load(signet, job);
  return { ...loaded, window: { from, to: nowMicroseconds(), requests: loaded.count } };
}

const nowMicroseconds = (): number => Number(process.hrtime.bigint() / 1000n);

function printTop(path: string, profile: CpuProfile, window: Window): void {
  const times = selfTimes(profile, window);
  times.delete('(idle)');
  const busy = [...times.values()].reduce((sum, time) => sum + time, 0);
  const each = (time: number) => (time / window.requests).toFixed(1);
  console.log(`\n## ${path}: ${each(busy)} µs of the main thread each, profiler included\n`);
  console.log('| function | µs each | share |\n|---|---:|---:|');
  const top = [...times].toSorted(([, a], [, b]) => b - a).slice(0, TOP);
  for (const [name, time] of top) {
    console.log(`| ${name} | ${each(time)} | ${((100 * time) / busy).toFixed(1)} % |`);
  }
}

/** Microseconds by function, in no other function, within the window. */
export function selfTimes(
  profile: CpuProfile,
  { from, to }: Pick<Window, 'from' | 'to'>,
): Map<string, number> {
  const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map<string, number>();
  let now = profile.startTime;
  for (const [index, id] of profile.samples.entries()) {
    // The time up to a sample belongs to the one before.
    now += profile.timeDeltas[index] ?? 0;
    const spent = profile.timeDeltas[index + 1] ?? 0;
    if (now < from || now > to) continue;
    const name = names.get(id) ?? '(unknown)';
    times.set(name, (times.get(name) ?? 0) + spent);
  }
  return times;
}

function nameOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const name = functionName || '(anonymous)';
  if (url === '') return name;
  const file = url.startsWith('file:') ? relative(here, fileURLToPath(url)) : url;
  return `${name} ${file}:${lineNumber + 1}`;
}

import { bracketed, type Calibration, type Calibrator, startCalibrator } from './calibrator.ts';
import { type JobProcess, startJobProcess } from './job-process.ts';
import type { LoadJob, LoadOutcome } from './load.ts';
import type { BenchOptions } from './options.ts';
import { type Contestant, packageVersion } from './peers/peer.ts';
import { tokenRequest } from './requests.ts';
import { createClients, type Signet, type SignetOptions, startSignet } from './signet.ts';
import { readUsage, type Usage, usageSince } from './usage.ts';

/** What the measurements share: one Signet that stays up, the load, the calibrator. */
export interface Bench {
  options: BenchOptions;
  signet: Contestant;
  aims: { tokensOverC: number; introspectionsOverBare: number };
  calibrator: Calibrator;
  /** New tokens, each asked for once. */
  mint(count: number): Promise<string[]>;
  load(contestant: Contestant, job: Job): Promise<Loaded>;
  /** Load from a second process, beside the first. */
  probe(contestant: Contestant, job: Job): Promise<Loaded>;
  /** Something between two calibrations. */
  bracketed<T>(run: () => Promise<T>): Promise<{ outcome: T; calibration: Calibration }>;
  stop(): Promise<void>;
}

export type Job = Pick<LoadJob, 'requests' | 'expects'> & Partial<LoadJob>;

/** What the load saw, and what it cost the process that answered. */
export interface Loaded extends LoadOutcome {
  usage: Usage | null;
}

/** No job is meant to end by it. */
export const WITHOUT_END = 600_000;
const AGENTS = 100;
/** A database server on the same cores takes its share of them. */
const AIMS = {
  sqlite: { tokensOverC: 0.75, introspectionsOverBare: 0.7 },
  postgres: { tokensOverC: 0.62, introspectionsOverBare: 0.4 },
};

export async function startBench(
  options: BenchOptions,
  place: Pick<SignetOptions, 'database' | 'folder'>,
): Promise<Bench> {
  const service = await startSignet(place);
  const signet = await toContestant(service, `Signet, ${databaseName(place.database)}`);
  const [first, second] = [startLoad(), startLoad()];
  const load = loadFrom(first, options);
  const { accessTokens } = await load(signet, {
    ...endlessTokens(signet),
    milliseconds: options.milliseconds,
  });
  const calibrator = startCalibrator(accessTokens[0] ?? '');
  return {
    options,
    signet,
    aims: place.database === 'sqlite' ? AIMS.sqlite : AIMS.postgres,
    calibrator,
    load,
    probe: loadFrom(second, options),
    mint: (count) => mint(load, signet, count),
    bracketed: (run) => bracketed(calibrator, options.milliseconds / 2, run),
    async stop() {
      await Promise.all([first.stop(), second.stop(), calibrator.stop(), service.stop()]);
    },
  };
}

/** Signet with its agents, ready to be asked for tokens. */
export async function toContestant(service: Signet, name: string): Promise<Contestant> {
  const clients = await createClients(service, AGENTS);
  return {
    name,
    version: '',
    pid: service.pid,
    origin: service.origin,
    jwksPath: '/.well-known/jwks.json',
    tokenRequests: clients.map(tokenRequest('/oauth/token')),
    stop: () => service.stop(),
  };
}

export const startLoad = (): JobProcess<LoadJob, LoadOutcome> =>
  startJobProcess(new URL('./load.ts', import.meta.url));

export const loadFrom =
  (process: JobProcess<LoadJob, LoadOutcome>, { connections }: Pick<BenchOptions, 'connections'>) =>
  async ({ origin, pid }: Contestant, job: Job): Promise<Loaded> => {
    const before = readUsage(pid);
    const rest = { milliseconds: WITHOUT_END, isEndless: false };
    const outcome = await process.run({ origin, connections, ...rest, ...job });
    return { ...outcome, usage: usageSince(before, readUsage(pid)) };
  };

export const endlessTokens = ({ tokenRequests }: Contestant) => ({
  requests: tokenRequests,
  isEndless: true,
  expects: 'access_token',
});

/** So many tokens, the agents in turn. */
export async function mint(load: Bench['load'], signet: Contestant, count: number): Promise<string[]> {
  const { tokenRequests } = signet;
  const requests = Array.from({ length: count }, (_, index) => tokenRequests[index % tokenRequests.length]);
  const job = { requests: requests.filter((request) => request !== undefined), expects: 'access_token' };
  return (await load(signet, job)).accessTokens;
}

/** Never the URL, which may hold a password. */
const databaseName = (database: string): string =>
  database === 'sqlite' ? `SQLite ${process.versions['sqlite']}` : `PostgreSQL by pg ${packageVersion('pg')}`;

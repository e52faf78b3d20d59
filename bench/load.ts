import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { answerJobs } from './job-process.ts';
import { quantile } from './table.ts';

/** The load, in a process of its own: sends what it is told to and answers what it saw. */
export interface LoadJob {
  origin: string;
  connections: number;
  /** The end at the latest. */
  milliseconds: number;
  requests: readonly LoadRequest[];
  /** Each request once, or over and over again. */
  isEndless: boolean;
  /** A member that every right answer has, and that is neither false nor null. */
  expects: string;
  /** Requests on a schedule, whatever the answers; undefined sends the next one as soon as a connection is free. */
  perSecond?: number;
}

export interface LoadRequest {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: string;
}

export interface LoadOutcome {
  count: number;
  perSecond: number;
  /** Milliseconds: from the sending, or from the time in the schedule. */
  p50: number;
  p99: number;
  /** By how much the load itself was behind its schedule: part of the latencies, and not the service's. */
  lateP99: number;
  accessTokens: string[];
  refreshTokens: string[];
}

interface Run {
  job: LoadJob;
  pool: Pool;
  started: number;
  latencies: number[];
  lateness: number[];
  accessTokens: string[];
  refreshTokens: string[];
}

/** Kept from job to job, so that no sample pays for connecting. */
const pools = new Map<string, Pool>();

answerJobs(async (job: LoadJob): Promise<LoadOutcome> => {
  const pool = poolOf(job);
  const empty = { latencies: [], lateness: [], accessTokens: [], refreshTokens: [] };
  const run: Run = { job, pool, started: performance.now(), ...empty };
  await (job.perSecond === undefined ? sendInTurn(run) : sendOnSchedule(run, job.perSecond));
  const seconds = (performance.now() - run.started) / 1000;
  const { latencies, lateness, accessTokens, refreshTokens } = run;
  const count = latencies.length;
  const quantiles = {
    p50: quantileOf(latencies, 0.5),
    p99: quantileOf(latencies, 0.99),
    lateP99: quantileOf(lateness, 0.99),
  };
  return { count, perSecond: count / seconds, ...quantiles, accessTokens, refreshTokens };
});

const quantileOf = (figures: readonly number[], share: number): number =>
  quantile(
    figures.toSorted((a, b) => a - b),
    share,
  );

function poolOf({ origin, connections }: LoadJob): Pool {
  const key = `${connections} ${origin}`;
  const pool = pools.get(key) ?? new Pool(origin, { connections, pipelining: 1 });
  pools.set(key, pool);
  return pool;
}

/** A closed loop: each connection waits for its answer and goes on. */
async function sendInTurn(run: Run): Promise<void> {
  let next = 0;
  async function connection(): Promise<void> {
    while (performance.now() - run.started < run.job.milliseconds) {
      const request = requestAt(run.job, next++);
      if (request === undefined) return;
      await send(run, request, performance.now());
    }
  }
  await Promise.all(Array.from({ length: run.job.connections }, connection));
}

/** An open loop: a slow answer puts nobody off, so that whoever has to wait behind it is counted as waiting. */
async function sendOnSchedule(run: Run, perSecond: number): Promise<void> {
  const all: Promise<void>[] = [];
  let failure: unknown;
  const count = Math.floor((perSecond * run.job.milliseconds) / 1000);
  for (let index = 0; index < count; index++) {
    const due = run.started + (index * 1000) / perSecond;
    while (performance.now() < due) await sleep(1);
    const request = requestAt(run.job, index);
    if (request === undefined) break;
    run.lateness.push(performance.now() - due);
    const sent = send(run, request, due).catch((error: unknown) => {
      failure ??= error;
    });
    all.push(sent);
  }
  await Promise.all(all);
  if (failure !== undefined) throw failure;
}

const requestAt = ({ requests, isEndless }: LoadJob, index: number): LoadRequest | undefined =>
  requests[isEndless ? index % requests.length : index];

async function send(run: Run, request: LoadRequest, since: number): Promise<void> {
  const { statusCode, body } = await run.pool.request({ ...request, body: request.body ?? null });
  const answer = (await body.json()) as Record<string, unknown>;
  run.latencies.push(performance.now() - since);
  if (statusCode !== 200 || !answer[run.job.expects]) {
    throw new Error(`${request.path} answered ${statusCode}: ${JSON.stringify(answer)}`);
  }
  if (typeof answer['access_token'] === 'string') run.accessTokens.push(answer['access_token']);
  if (typeof answer['refresh_token'] === 'string') run.refreshTokens.push(answer['refresh_token']);
}

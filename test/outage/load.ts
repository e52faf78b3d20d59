import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { assertEveryKind, assertKept, changeEverything, type Known, type Take } from '../changes.ts';
import type { Answer } from '../harness.ts';
import { until } from '../until.ts';

const CALLERS = 12;
const AFTER_REFUSAL_MILLISECONDS = 20;
/** What the service promises for a request whose database falls silent, with room for a busy machine. */
export const LONGEST_MILLISECONDS = 20_000;

/** Callers that change things over HTTP without a pause, and keep what was acknowledged to them. */
export interface Load {
  known: Known[];
  /** Answers until now: those that acknowledged something, and those that said 503. */
  acknowledged: number;
  refused: number;
  longestMilliseconds: number;
  /** Ends the load; rejects where any request was answered by anything else than success or a proper 503. */
  stop(): Promise<void>;
}

/** The service said that it cannot do this now. */
class Refusal extends Error {}

export function startLoad(url: string): Load {
  let isStopped = false;
  const load: Load = {
    known: [],
    acknowledged: 0,
    refused: 0,
    longestMilliseconds: 0,
    async stop() {
      isStopped = true;
      await Promise.all(callers);
    },
  };
  const take: Take = async (request, status) => {
    const started = performance.now();
    const answer = await request;
    load.longestMilliseconds = Math.max(load.longestMilliseconds, performance.now() - started);
    if (answer.status === 503) {
      assertRefusal(answer);
      load.refused += 1;
      throw new Refusal();
    }
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    load.acknowledged += 1;
    return answer.body;
  };
  async function caller(): Promise<void> {
    while (!isStopped) {
      try {
        await changeEverything(() => url, load.known, take);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        await wait(AFTER_REFUSAL_MILLISECONDS);
      }
    }
  }
  const callers = Array.from({ length: CALLERS }, caller);
  // Told of by `stop`, whenever it comes.
  for (const ended of callers) ended.catch(() => {});
  return load;
}

export function assertRefusal({ status, headers, body }: Answer): void {
  assert.deepEqual([status, body.error], [503, 'temporarily_unavailable']);
  assert.match(String(headers.get('retry-after')), /^\d+$/);
}

/** After the load: nothing that was acknowledged is missing, and nobody waited without end. */
export async function assertNothingLost(url: string, load: Load): Promise<void> {
  assertEveryKind(load.known);
  assert.ok(load.longestMilliseconds < LONGEST_MILLISECONDS, `waited ${load.longestMilliseconds} ms`);
  await Promise.all(load.known.map((agent) => assertKept(url, agent)));
}

/** So many more acknowledged than now. */
export async function progress(load: Load, count = 30): Promise<void> {
  const goal = load.acknowledged + count;
  await until(`${count} more changes`, () => load.acknowledged >= goal);
}

export async function refusals(load: Load, count = 30): Promise<void> {
  const goal = load.refused + count;
  await until(`${count} more refusals`, () => load.refused >= goal);
}

import type { Clock } from '../clock.ts';
import type { Database } from '../db/database.ts';
import { takeTurn } from './turns.store.ts';

interface Deps {
  database: Database;
  clock: Clock;
  /** Whether other processes work on the database; one that is alone always has the turn. */
  isShared: boolean;
  /** That of the worker. */
  intervalMs: number;
}

/** A little less than the interval, so that the next turn is free when it is asked for. */
const SLACK_MILLISECONDS = 5000;

/** Makes of a worker's work what one of the processes on a database does for all of them. */
export function inTurn(deps: Deps, name: string, runOnce: () => Promise<void>): () => Promise<void> {
  const { database, clock, intervalMs } = deps;
  if (!deps.isShared) return runOnce;
  return async () => {
    const now = clock.now();
    const turn = { name, now, until: now + intervalMs - SLACK_MILLISECONDS };
    if (await database.readCommitted((tx) => takeTurn(tx, turn))) await runOnce();
  };
}

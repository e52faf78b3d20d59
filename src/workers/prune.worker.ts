import type { Clock } from '../clock.ts';
import type { Database, Queries } from '../db/database.ts';
import {
  deleteEndedSecrets,
  deleteExpiredRefreshTokens,
  deleteExpiredRevocations,
  deleteOrphanedRefreshTokens,
} from '../oauth/expired.store.ts';

const ROWS_PER_STEP = 200;

type Step = (tx: Queries, now: number, limit: number) => Promise<number>;

/** In this order: an ended secret goes only after its refresh tokens. */
const steps: readonly Step[] = [
  deleteExpiredRefreshTokens,
  deleteOrphanedRefreshTokens,
  deleteEndedSecrets,
  deleteExpiredRevocations,
];

/** Deletes what nobody can use any more, a small transaction at a time. */
export async function prune(deps: { database: Database; clock: Clock }): Promise<void> {
  const now = deps.clock.now();
  for (const step of steps) {
    let deleted = ROWS_PER_STEP;
    while (deleted === ROWS_PER_STEP) {
      deleted = await deps.database.transaction((tx) => step(tx, now, ROWS_PER_STEP));
    }
  }
}

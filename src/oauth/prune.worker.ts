import type { Clock } from '../clock.ts';
import type { Database, Queries } from '../db/database.ts';
import { inSteps } from '../db/in-steps.ts';
import {
  deleteEndedSecrets,
  deleteExpiredRefreshTokens,
  deleteExpiredRevocations,
  deleteOrphanedRefreshTokens,
} from './expired.store.ts';

/** For so long a token that has ended is still told from one that never was. */
const KEPT_MILLISECONDS = 86_400_000;

type Step = (tx: Queries, before: number, limit: number) => Promise<number>;

/** In this order: an ended secret goes only after its refresh tokens. */
const steps: readonly Step[] = [
  deleteExpiredRefreshTokens,
  deleteOrphanedRefreshTokens,
  deleteEndedSecrets,
  deleteExpiredRevocations,
];

/** Deletes what nobody can use any more, a small transaction at a time. */
export async function prune(deps: { database: Database; clock: Clock }): Promise<void> {
  const before = deps.clock.now() - KEPT_MILLISECONDS;
  for (const step of steps) await inSteps(deps.database, (tx, limit) => step(tx, before, limit));
}

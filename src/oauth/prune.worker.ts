import type { Clock } from '../clock.ts';
import type { Database, Queries } from '../db/database.ts';
import { inSteps } from '../db/in-steps.ts';
import {
  deleteEndedSecrets,
  deleteExpiredRefreshTokens,
  deleteExpiredRevocations,
  hasExpiredRevocation,
} from './expired.store.ts';
import type { ExpiryFloor } from './expiry-floor.ts';

/** For so long a token that has ended is still told from one that never was. */
const KEPT_MILLISECONDS = 86_400_000;

interface Deps {
  database: Database;
  clock: Clock;
  expiryFloor: ExpiryFloor;
}

type Step = (tx: Queries, before: number, limit: number) => Promise<number>;

const steps: readonly Step[] = [deleteExpiredRefreshTokens, deleteEndedSecrets];

/** Deletes what nobody can use any more, a small transaction at a time. */
export async function prune({ database, clock, expiryFloor }: Deps): Promise<void> {
  const before = clock.now() - KEPT_MILLISECONDS;
  for (const step of steps) await inSteps(database, (tx, limit) => step(tx, before, limit));
  // As far as an earlier pass has raised it: what it raises now, other processes learn before the next pass.
  await expiryFloor.share();
  const floor = Math.min(before, expiryFloor.endedBefore);
  await inSteps(database, (tx, limit) => deleteExpiredRevocations(tx, floor, limit));
  if (await hasExpiredRevocation(database.reader, before)) await expiryFloor.raise(before);
}

import type { Database, Queries } from './database.ts';

/** The most rows that one transaction of a clean-up touches, so that no request waits long behind it. */
export const ROWS_PER_STEP = 200;

/** Runs `step`, a small transaction at a time, until it finds less than its fill. It answers how many rows it had. */
export async function inSteps(
  database: Database,
  step: (tx: Queries, limit: number) => Promise<number>,
): Promise<void> {
  let rows = ROWS_PER_STEP;
  while (rows === ROWS_PER_STEP) rows = await database.readCommitted((tx) => step(tx, ROWS_PER_STEP));
}

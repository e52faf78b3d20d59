import type { Clock } from '../clock.ts';
import type { Database, Queries } from '../db/database.ts';
import { inSteps } from '../db/in-steps.ts';
import { deleteEntriesUpTo, listEntriesAfter, writeEnd } from './audit.store.ts';
import { type ChainKey, follow, sealOf } from './chain.ts';
import { readEnd } from './verify.ts';

interface Deps {
  database: Database;
  clock: Pick<Clock, 'now'>;
  key: ChainKey;
  /** How long entries are kept; 0 for ever. */
  keptDays: number;
}

const DAY_MILLISECONDS = 86_400_000;

/** Removes the oldest entries, and notes where what is left begins. */
export async function forgetOldEntries({ database, clock, key, keptDays }: Deps): Promise<void> {
  if (keptDays === 0) return;
  const before = clock.now() - keptDays * DAY_MILLISECONDS;
  await inSteps(database, (tx, limit) => forgetSome({ db: tx, key }, before, limit));
}

/** What does not fit is evidence, whatever age it claims: it stays, and this fails until somebody has looked. */
async function forgetSome(
  { db: tx, key }: { db: Queries; key: ChainKey },
  before: number,
  limit: number,
): Promise<number> {
  const anchor = await readEnd({ db: tx, key }, 'anchor');
  const oldest = await listEntriesAfter(tx, anchor.position, limit);
  const firstKept = oldest.findIndex(({ createdAt }) => createdAt > before);
  const old = firstKept === -1 ? oldest : oldest.slice(0, firstKept);
  if (old.length === 0) return 0;
  const last = follow(key, anchor, old);
  await deleteEntriesUpTo(tx, last.position);
  await writeEnd(tx, 'anchor', last, sealOf(key, 'anchor', last));
  return old.length;
}

import { DatabaseUnavailable } from './database.ts';

interface Limits {
  /** Items. */
  largestBatch?: number;
  /** Where a database has become so slow, what waits for a batch is refused rather than kept waiting on and on. */
  longestWaitMilliseconds?: number;
}

/**
 * Makes a function of one item from one that takes many: what arrives while a batch is under way is handed over
 * together, in the order in which it came. A batch that fails fails for each of its items.
 */
export function coalesce<Item, Result>(
  runBatch: (items: readonly Item[]) => Promise<readonly Result[]>,
  { largestBatch = 32, longestWaitMilliseconds = 5000 }: Limits = {},
): (item: Item) => Promise<Result> {
  interface Waiting {
    item: Item;
    since: number;
    resolve(result: Result): void;
    reject(error: unknown): void;
  }
  let waiting: Waiting[] = [];
  let isRunning = false;

  function refuseStale(): void {
    const oldest = performance.now() - longestWaitMilliseconds;
    if (waiting[0] === undefined || waiting[0].since >= oldest) return;
    const stale = waiting.filter(({ since }) => since < oldest);
    waiting = waiting.slice(stale.length);
    for (const { reject } of stale)
      reject(new DatabaseUnavailable('The database is slower than requests come.'));
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, largestBatch);
      waiting = waiting.slice(largestBatch);
      try {
        const results = await runBatch(batch.map((entry) => entry.item));
        for (const [index, entry] of batch.entries()) entry.resolve(results[index] as Result);
      } catch (error) {
        for (const entry of batch) entry.reject(error);
      }
      refuseStale();
    }
    isRunning = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, since: performance.now(), resolve, reject });
      if (isRunning) return;
      isRunning = true;
      setImmediate(drain);
    });
}

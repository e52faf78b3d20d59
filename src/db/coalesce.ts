/**
 * Makes a function of one item from one that takes many: what arrives while a batch is under way is handed over
 * together, in the order in which it came. A batch that fails fails for each of its items.
 */
export function coalesce<Item, Result>(
  runBatch: (items: readonly Item[]) => Promise<readonly Result[]>,
  largestBatch = 32,
): (item: Item) => Promise<Result> {
  interface Waiting {
    item: Item;
    resolve(result: Result): void;
    reject(error: unknown): void;
  }
  let waiting: Waiting[] = [];
  let isRunning = false;

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
    }
    isRunning = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (isRunning) return;
      isRunning = true;
      setImmediate(drain);
    });
}

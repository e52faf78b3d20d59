import type { Backlog } from './upkeep.store.ts';

/** More than this for one webhook, and new deliveries to it fail at once as `backlog_full`. */
export const LARGEST_BACKLOG = 200_000;

/** What waits for each webhook, as the last count found it. */
export class Backlogs {
  #full: ReadonlySet<string> = new Set();
  #backlogs: readonly Backlog[] = [];

  update(backlogs: readonly Backlog[]): void {
    this.#backlogs = backlogs;
    this.#full = new Set(
      backlogs.filter(({ waiting }) => waiting >= LARGEST_BACKLOG).map(({ webhookId }) => webhookId),
    );
  }

  isFull(webhookId: string): boolean {
    return this.#full.has(webhookId);
  }

  get waiting(): number {
    return this.#backlogs.reduce((sum, { waiting }) => sum + waiting, 0);
  }

  /** How long the one that is due the longest is due, in seconds. */
  oldestDueSeconds(now: number): number {
    const oldest = Math.min(now, ...this.#backlogs.map(({ oldestDueAt }) => oldestDueAt));
    return (now - oldest) / 1000;
  }
}

import type { Contestant } from './peers/peer.ts';

/** What the service's own metrics say of its commits. */
export interface Commits {
  count: number;
  seconds: number;
}

/** While SQLite waits for the disk, the main thread does too: time that no CPU figure shows. */
export async function readCommits({ origin }: Contestant): Promise<Commits> {
  const metrics = await (await fetch(`${origin}/metrics`)).text();
  return {
    count: readValue(metrics, 'signet_store_commit_duration_seconds_count'),
    seconds: readValue(metrics, 'signet_store_commit_duration_seconds_sum'),
  };
}

export const commitsSince = (before: Commits, after: Commits): Commits => ({
  count: after.count - before.count,
  seconds: after.seconds - before.seconds,
});

const readValue = (metrics: string, name: string): number =>
  Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(metrics)?.[1] ?? 0);

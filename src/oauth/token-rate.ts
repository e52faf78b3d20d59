import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { rateLimited } from '../errors.ts';

const MINUTE_MILLISECONDS = 60_000;
/** Who is forgotten begins anew with a full bucket. */
const REMEMBERED = 100_000;

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** A bucket for each agent, as large as a minute's worth; takes one, or throws where there is none left. */
export function createTokenRate({
  clock,
  perMinute,
}: {
  clock: Clock;
  perMinute: number;
}): (agentId: string) => void {
  const buckets = new LRUCache<string, Bucket>({ max: REMEMBERED });
  const perMillisecond = perMinute / MINUTE_MILLISECONDS;
  return (agentId) => {
    const now = clock.now();
    const bucket = buckets.get(agentId) ?? { tokens: perMinute, filledAt: now };
    // A clock that goes back takes nothing away.
    const gained = Math.max(0, now - bucket.filledAt) * perMillisecond;
    const tokens = Math.min(perMinute, bucket.tokens + gained);
    const isEmpty = tokens < 1;
    buckets.set(agentId, { tokens: isEmpty ? tokens : tokens - 1, filledAt: now });
    if (isEmpty) throw rateLimited(Math.ceil((1 - tokens) / perMillisecond / 1000));
  };
}

import { unreachable } from '../errors.ts';

/**
 * `pending`: no attempt has failed yet. `retrying`: one has, and the next is scheduled. The other three are final.
 * In flight is no status: it is a due time that a claim has put off.
 */
export type DeliveryStatus = 'pending' | 'retrying' | 'delivered' | 'failed' | 'dead';

/** What ended a delivery other than a success or its last attempt. */
export type FailureReason =
  | 'gone'
  | 'blocked_target'
  | 'webhook_deleted'
  | 'webhook_disabled'
  | 'backlog_full';

/** What came of one attempt. */
export type AttemptOutcome =
  | { kind: 'answered'; statusCode: number; retryAfterSeconds: number | null }
  | { kind: 'unanswered' }
  | { kind: 'blocked' };

export type NextState =
  | { status: 'delivered' }
  | { status: 'retrying'; nextAttemptAt: number }
  | { status: 'dead' }
  | { status: 'failed'; reason: FailureReason };

export interface Attempt {
  /** Counted from one, when it was claimed. */
  number: number;
  maxAttempts: number;
}

/** The state machine; docs/webhooks.md draws it. `random` is from 0 up to 1. */
export function afterAttempt(
  attempt: Attempt,
  outcome: AttemptOutcome,
  { now, random }: { now: number; random: number },
): NextState {
  switch (outcome.kind) {
    case 'blocked':
      return { status: 'failed', reason: 'blocked_target' };
    case 'unanswered':
      return retryOrDie(attempt, { now, random, leastSeconds: 0 });
    case 'answered':
      if (isSuccess(outcome.statusCode)) return { status: 'delivered' };
      if (outcome.statusCode === 410) return { status: 'failed', reason: 'gone' };
      return retryOrDie(attempt, { now, random, leastSeconds: requestedSeconds(outcome) });
    default:
      return unreachable(outcome);
  }
}

export const isSuccess = (statusCode: number): boolean => statusCode >= 200 && statusCode < 300;

const LONGEST_DELAY_SECONDS = 3600;
const LARGEST_JITTER = 0.1;

/** 2, 4, 8, … seconds, an hour at most, and up to a tenth more, so that a thousand retries do not meet. */
export function retryDelayMilliseconds(failedAttempts: number, random: number): number {
  const seconds = Math.min(2 ** failedAttempts, LONGEST_DELAY_SECONDS);
  return Math.ceil(seconds * 1000 * (1 + LARGEST_JITTER * random));
}

function retryOrDie(
  attempt: Attempt,
  { now, random, leastSeconds }: { now: number; random: number; leastSeconds: number },
): NextState {
  if (attempt.number >= attempt.maxAttempts) return { status: 'dead' };
  const delay = Math.max(retryDelayMilliseconds(attempt.number, random), leastSeconds * 1000);
  return { status: 'retrying', nextAttemptAt: now + delay };
}

/** A receiver that is too busy may ask for more time, an hour at most. */
function requestedSeconds({
  statusCode,
  retryAfterSeconds,
}: {
  statusCode: number;
  retryAfterSeconds: number | null;
}): number {
  if (statusCode !== 429 && statusCode !== 503) return 0;
  return Math.min(retryAfterSeconds ?? 0, LONGEST_DELAY_SECONDS);
}

/** RFC 9110 §10.2.3: seconds or a date; null for what is neither, 0 for what is past. */
export function parseRetryAfter(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  if (/^\d{1,10}$/.test(text)) return Number(text);
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1000));
}

/**
 * How many requests one process has under way at once: to everybody together, to one webhook, and to one that is probed.
 * Processes do not know of each other's, so that a webhook gets up to as many times more as there are processes.
 */
export interface SlotLimits {
  total: number;
  perWebhook: number;
  perProbedWebhook: number;
}

export const SLOT_LIMITS: SlotLimits = { total: 64, perWebhook: 4, perProbedWebhook: 1 };

export interface Candidate {
  webhookId: string;
  isProbed: boolean;
  /** Requests to it that are under way. */
  inFlight: number;
}

/** How many more requests a webhook may have under way. */
export const freeSlots = (candidate: Candidate, limits: SlotLimits): number =>
  Math.max(0, (candidate.isProbed ? limits.perProbedWebhook : limits.perWebhook) - candidate.inFlight);

/**
 * Deals the free slots out in rounds, one to each webhook that has something due, beginning with another one each
 * turn: however much waits for one, the others are served beside it.
 */
export function dealSlots(
  candidates: readonly Candidate[],
  { free, turn, limits }: { free: number; turn: number; limits: SlotLimits },
): Map<string, number> {
  const dealt = new Map<string, number>();
  const first = candidates.length === 0 ? 0 : turn % candidates.length;
  const order = [...candidates.slice(first), ...candidates.slice(0, first)];
  let left = free;
  for (let round = 1; round <= limits.perWebhook && left > 0; round++) {
    for (const candidate of order) {
      if (left === 0 || freeSlots(candidate, limits) < round) continue;
      dealt.set(candidate.webhookId, round);
      left -= 1;
    }
  }
  return dealt;
}

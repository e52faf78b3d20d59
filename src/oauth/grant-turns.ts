import type { Clock } from '../clock.ts';
import { FairTurns } from './fair-turns.ts';
import { createTokenRate } from './token-rate.ts';

/** Does the expensive part of a grant when it is the agent's turn; throws where there is too much of it. */
export type TakeTurn = <T>(agentId: string, work: () => Promise<T>) => Promise<T>;

interface Deps {
  clock: Clock;
  /** Signatures are what takes the time, so this decides how much is worth having under way. */
  signaturesAtOnce: number;
  /** Tokens per minute and agent; null for any number. */
  tokensPerMinute: number | null;
}

const WAITING_PER_AGENT = 2048;
const LONGEST_WAIT_MILLISECONDS = 5000;
/** With this many agents at it at once, none of them is held back for the sake of others that may come. */
const AGENTS_AT_ONCE = 4;

/** To be asked once it is proven who the agent is: nobody can use up the turns of another. */
export function createGrantTurns({ clock, signaturesAtOnce, tokensPerMinute }: Deps): TakeTurn {
  // Enough to go on signing while a batch is being committed.
  const atOncePerKey = 8 + 4 * signaturesAtOnce;
  const turns = new FairTurns({
    atOnce: atOncePerKey * AGENTS_AT_ONCE,
    atOncePerKey,
    waitingPerKey: WAITING_PER_AGENT,
    longestWaitMilliseconds: LONGEST_WAIT_MILLISECONDS,
  });
  const count = tokensPerMinute === null ? () => {} : createTokenRate({ clock, perMinute: tokensPerMinute });
  return async (agentId, work) => {
    count(agentId);
    return turns.run(agentId, work);
  };
}

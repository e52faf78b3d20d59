import { setTimeout as wait } from 'node:timers/promises';

const PATIENCE_MILLISECONDS = 30_000;
const FIRST_STEP_MILLISECONDS = 5;
const LONGEST_STEP_MILLISECONDS = 100;

/**
 * Asks until the answer is neither false nor null, and answers it; less and less often, since who asks takes the processor from
 * what is waited for. An error says what never came.
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | null | false> | T | null | false,
): Promise<T> {
  const deadline = performance.now() + PATIENCE_MILLISECONDS;
  for (let step = FIRST_STEP_MILLISECONDS; ; step = Math.min(step * 1.25, LONGEST_STEP_MILLISECONDS)) {
    const answer = await ask();
    if (answer !== null && answer !== false) return answer;
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await wait(step);
  }
}

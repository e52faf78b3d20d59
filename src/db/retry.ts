import { DatabaseUnavailable } from './database.ts';
import { CommitUnknown, isConflict, isConnectionLost, NoConnection } from './postgres-errors.ts';

const MOST_CONFLICTS = 10;
const MOST_LOST_CONNECTIONS = 2;
const LONGEST_BACKOFF_MILLISECONDS = 50;
/** Whoever has tried for so long is told that the database is unavailable. */
const LONGEST_MILLISECONDS = 5000;
/** Longer, since who waits for a turn holds nothing that others wait for. */
const LONGEST_TURN_MILLISECONDS = 10_000;

/**
 * Runs what the database may ask to run again. What met a conflict once goes on in a lane, one at a time: a crowd that
 * wants to change one row would otherwise keep on throwing each other out.
 */
export class Retries {
  #lane: Promise<unknown> = Promise.resolve();

  async run<T>(attempt: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + LONGEST_MILLISECONDS;
    const unbroken = () => withoutBreaks(attempt, deadline);
    try {
      return await unbroken();
    } catch (error) {
      if (!isConflict(error)) throw error;
      return this.#inLane(() => {
        // Those before it may have taken all of its time.
        if (performance.now() > deadline) throw error;
        return withoutConflicts(unbroken, deadline);
      });
    }
  }

  /**
   * For what would always meet others of its kind: it waits in the lane from the start. It holds no connection there, so
   * that a crowd of these leaves the others to those who do not wait for them.
   */
  async runInLane<T>(attempt: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + LONGEST_TURN_MILLISECONDS;
    return this.#inLane(() => {
      if (performance.now() > deadline) throw new DatabaseUnavailable('There was no turn in time.');
      return withoutConflicts(() => withoutBreaks(attempt, deadline), deadline);
    });
  }

  #inLane<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#lane.then(run);
    this.#lane = turn.catch(() => {});
    return turn;
  }
}

/** Only what is certain not to have been committed is run again. */
async function withoutBreaks<T>(attempt: () => Promise<T>, deadline: number): Promise<T> {
  for (let lost = 0; ; lost++) {
    try {
      return await attempt();
    } catch (error) {
      const isCertain = !(error instanceof NoConnection) && !(error instanceof CommitUnknown);
      const mayGoOn = isCertain && lost < MOST_LOST_CONNECTIONS && performance.now() < deadline;
      if (!mayGoOn || !isConnectionLost(error)) throw error;
    }
  }
}

async function withoutConflicts<T>(attempt: () => Promise<T>, deadline: number): Promise<T> {
  for (let conflicts = 1; ; conflicts++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error) || conflicts === MOST_CONFLICTS || performance.now() > deadline) throw error;
      await pause(Math.random() * Math.min(2 ** conflicts, LONGEST_BACKOFF_MILLISECONDS));
    }
  }
}

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

import { secondsSince } from '../clock.ts';
import { DatabaseBusy, DatabaseUnavailable } from './database.ts';

/** What the group commit needs of a connection: statements that take effect at once. */
export interface CommitConnection {
  execute(sql: string): void;
  /** Called once the transaction has begun, before anything is written; rejects where nothing may be. */
  prepare(): Promise<void>;
  /** Resolves once what was committed is on the disk; meanwhile others can be served, and wait to share the next commit. */
  flush(): Promise<void>;
  /** False once the database has ended the transaction on its own account, as it may on a full disk. */
  isInTransaction(): boolean;
}

interface Job {
  work(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

type Outcome = { job: Job; value: unknown } | { job: Job; error: unknown };

/** More than this in one commit gains nothing and makes the first of them wait. */
const LARGEST_GROUP = 32;
const LONGEST_WAIT_MILLISECONDS = 2000;
const WAIT_STEP_MILLISECONDS = 20;

/**
 * Transactions that arrive while one commit is under way share the next: each in its own savepoint, one after the
 * other, all answered after the one COMMIT. A commit costs a disk flush, which is most of what a small write costs.
 */
export class GroupCommit {
  readonly #connection: CommitConnection;
  readonly #onCommit: (transactions: number, seconds: number) => void;
  readonly #waiting: Job[] = [];
  #draining: Promise<void> | null = null;

  constructor(connection: CommitConnection, onCommit: (transactions: number, seconds: number) => void) {
    this.#connection = connection;
    this.#onCommit = onCommit;
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as (value: unknown) => void, reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Resolves when nothing is waiting. */
  async idle(): Promise<void> {
    while (this.#draining !== null) await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await turnOfEventLoop();
      await this.#commit(this.#waiting.splice(0, LARGEST_GROUP));
    }
    this.#draining = null;
  }

  async #commit(group: readonly Job[]): Promise<void> {
    const started = performance.now();
    try {
      const outcomes = await this.#runGroup(group);
      this.#onCommit(group.length, secondsSince(started));
      for (const outcome of outcomes) settle(outcome);
    } catch (error) {
      this.#giveUp();
      for (const job of group) job.reject(error);
    }
  }

  async #runGroup(group: readonly Job[]): Promise<Outcome[]> {
    this.#rollback();
    await this.#begin();
    await this.#connection.prepare();
    const outcomes: Outcome[] = [];
    // One that is alone needs no savepoint, which makes SQLite keep a copy of every page that it changes.
    const run = (job: Job) => (group.length === 1 ? runPlain(job) : this.#runInSavepoint(job));
    for (const job of group) outcomes.push(await run(job));
    if (!this.#connection.isInTransaction())
      throw new DatabaseUnavailable('The database ended a transaction.');
    this.#connection.execute('commit');
    await this.#connection.flush();
    return outcomes;
  }

  /** Where another program holds the file for a moment, waits for it without holding up the event loop. */
  async #begin(): Promise<void> {
    const deadline = performance.now() + LONGEST_WAIT_MILLISECONDS;
    for (;;) {
      try {
        return this.#connection.execute('begin immediate');
      } catch (error) {
        if (!(error instanceof DatabaseBusy) || performance.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, WAIT_STEP_MILLISECONDS));
      }
    }
  }

  async #runInSavepoint(job: Job): Promise<Outcome> {
    this.#connection.execute('savepoint one');
    try {
      const value = await job.work();
      this.#connection.execute('release one');
      return { job, value };
    } catch (error) {
      // The whole group is lost with the transaction: nobody in it may be told that his write stands.
      if (!this.#connection.isInTransaction()) throw error;
      this.#connection.execute('rollback to one');
      this.#connection.execute('release one');
      return { job, error };
    }
  }

  /** Where the disk refuses this too, it is done before the next group: nobody waits for ever behind a failure. */
  #giveUp(): void {
    try {
      this.#rollback();
    } catch {
      // The group has an error already, the one that came first.
    }
  }

  #rollback(): void {
    if (this.#connection.isInTransaction()) this.#connection.execute('rollback');
  }
}

async function runPlain(job: Job): Promise<Outcome> {
  return { job, value: await job.work() };
}

function settle(outcome: Outcome): void {
  if ('error' in outcome) outcome.job.reject(outcome.error);
  else outcome.job.resolve(outcome.value);
}

/** Lets the requests that have already arrived join the group. */
function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

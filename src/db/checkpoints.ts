import { Worker } from 'node:worker_threads';
import type { CheckpointOrder, LogPages } from './checkpoint.thread.ts';

interface Options {
  path: string;
  /** Finishes what is left of a checkpoint, after which the log begins anew; called between transactions. */
  finish(): void;
  /** So many commits before the thread is started at all: whoever writes little needs none. */
  afterCommits?: number;
  everyMilliseconds?: number;
  leastPages?: number;
  mostPages?: number;
}

/** 4 MB of log: each checkpoint flushes the database, and a commit that comes at that moment waits for it. */
const LEAST_PAGES = 1000;

/** 64 MB of log. */
const MOST_PAGES = 16_000;

/**
 * Carries what commits have written from the log into the database on a thread of its own. SQLite would do so in the
 * commit that finds the log long, and hold up the event loop for as long as a thousand scattered pages take.
 *
 * While others go on writing the thread never quite arrives, and the log would grow without end; so from time to time
 * `finish` does the little that is left right after it.
 */
export class Checkpoints {
  readonly #options: Required<Options>;
  #commits = 0;
  #thread: Worker | null = null;

  constructor(options: Options) {
    this.#options = {
      afterCommits: 100,
      everyMilliseconds: 500,
      leastPages: LEAST_PAGES,
      mostPages: MOST_PAGES,
      ...options,
    };
  }

  noteCommit(): void {
    this.#commits += 1;
    if (this.#commits >= this.#options.afterCommits) this.#thread ??= this.#start();
  }

  /** Until so many commits have come again. */
  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = null;
    this.#commits = 0;
    await thread?.terminate();
  }

  #start(): Worker {
    const { path, everyMilliseconds, leastPages, mostPages, finish } = this.#options;
    const order: CheckpointOrder = { path, everyMilliseconds, leastPages, mostPages };
    const thread = new Worker(new URL('./checkpoint.thread.ts', import.meta.url), {
      workerData: order,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
    });
    thread.on('message', (pages: LogPages) => {
      if (pages >= mostPages) finish();
    });
    // Where it cannot open the file the log grows meanwhile, until SQLite's own limit, and the next commits start another.
    thread.on('error', () => {
      if (this.#thread !== thread) return;
      this.#thread = null;
      this.#commits = 0;
    });
    thread.unref();
    return thread;
  }
}

import { closeSync, fdatasync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { DatabaseUnavailable } from './database.ts';
import { flushFolder } from './flush-folder.ts';
import { rewriteLog } from './wal-rewrite.ts';

interface Options {
  /** How many frames the connections take the log to have. */
  countFrames(): number;
  /** Brings what was written to a file to the disk. */
  flushFile?: (file: number) => Promise<void>;
  retryMilliseconds?: number;
}

/** Trying again reads and writes all of the log. */
const BETWEEN_RETRIES_MILLISECONDS = 1000;

/**
 * Brings what commits have written into a database's log to the disk, on a thread of libuv's pool: a disk takes longer
 * for it than everything else that a commit costs, and SQLite itself would hold up the event loop for as long.
 *
 * **What follows on a flush that failed.** The kernel marks what a disk has refused as written, and may drop it from
 * memory: a second flush would find nothing to do and succeed, with a hole in the log on the disk. Whatever were committed
 * after the hole would be acknowledged, and gone after a loss of power. Neither reopening the connections nor restarting
 * the process mends that, since SQLite would read the same memory. So nothing is committed until the log was read, found
 * whole by its checksums as far as the connections know it, and written once more with the bytes that were checked: that
 * makes the kernel take them for new, and the flush of those means what it says. Where the log is no longer whole in
 * memory only a restart helps, which cuts it off at the hole: behind it is nothing that anybody was promised.
 * A process that found a log on its start cannot know how the last one ended, and begins in the same way.
 */
export class WalFlush {
  readonly #path: string;
  readonly #options: Required<Options>;
  #file: number | null = null;
  #isSuspect: boolean;
  #retryAt = 0;

  constructor(databasePath: string, { isAlone, ...options }: Options & { isAlone: boolean }) {
    this.#path = `${databasePath}-wal`;
    this.#options = {
      flushFile: promisify(fdatasync),
      retryMilliseconds: BETWEEN_RETRIES_MILLISECONDS,
      ...options,
    };
    this.#isSuspect = isAlone && (statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) > 0;
  }

  /** What is in memory may not be what is on the disk. */
  get isSuspect(): boolean {
    return this.#isSuspect;
  }

  /** Resolves once every commit before the call is on the disk. */
  async flush(): Promise<void> {
    try {
      this.#file ??= openLog(this.#path);
      await this.#options.flushFile(this.#file);
    } catch (cause) {
      throw this.#refused(cause);
    }
  }

  /** To be awaited before anything is committed, by whoever keeps all others from writing. */
  async trust(): Promise<void> {
    if (!this.#isSuspect) return;
    if (performance.now() < this.#retryAt) throw new DatabaseUnavailable('The disk refused a commit.');
    if (!(await this.#rewrite())) {
      throw new DatabaseUnavailable('The disk lost a commit that it refused. Restart the service.');
    }
    await this.flush();
    this.#isSuspect = false;
  }

  async #rewrite(): Promise<boolean> {
    try {
      this.#file ??= openLog(this.#path);
      const frames = this.#options.countFrames();
      return frames === 0 || (await rewriteLog(this.#file, frames));
    } catch (cause) {
      throw this.#refused(cause);
    }
  }

  #refused(cause: unknown): DatabaseUnavailable {
    this.#isSuspect = true;
    this.#retryAt = performance.now() + this.#options.retryMilliseconds;
    return new DatabaseUnavailable('The disk refused a commit.', { cause });
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }
}

/** It is there from the first commit on. */
function openLog(path: string): number {
  const file = openSync(path, 'r+');
  flushFolder(dirname(path));
  return file;
}

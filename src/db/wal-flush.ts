import { closeSync, fdatasync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { DatabaseUnavailable } from './database.ts';

const flushFile = promisify(fdatasync);

/**
 * Brings what commits have written into a database's log to the disk, on a thread of libuv's pool: a disk takes longer
 * for it than everything else that a commit costs, and SQLite itself would hold up the event loop for as long.
 */
export class WalFlush {
  readonly #path: string;
  #file: number | null = null;
  #failure: DatabaseUnavailable | null = null;

  constructor(databasePath: string) {
    this.#path = `${databasePath}-wal`;
  }

  /** Resolves once every commit before the call is on the disk. */
  async flush(): Promise<void> {
    if (this.#failure !== null) throw this.#failure;
    try {
      this.#file ??= openLog(this.#path);
      await flushFile(this.#file);
    } catch (cause) {
      // What a disk has refused may be gone from memory too: a second try would find nothing to write, and succeed.
      this.#failure = new DatabaseUnavailable('The disk refused a commit. Restart the service.', { cause });
      throw this.#failure;
    }
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }
}

/** It is there from the first commit on. The name of a new file is as durable as its folder. */
function openLog(path: string): number {
  const file = openSync(path, 'r+');
  if (process.platform === 'win32') return file;
  const folder = openSync(dirname(path), 'r');
  fsyncSync(folder);
  closeSync(folder);
  return file;
}

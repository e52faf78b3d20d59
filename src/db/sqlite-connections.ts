import { mkdirSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { DatabaseUnusable } from './database.ts';
import { cannotOpen } from './sqlite-examine.ts';

/** `alone`: the one process that serves this file. `beside`: a command for a moment, whether or not one serves. */
export type Access = 'alone' | 'beside';

/** How long a statement holds the event loop up where another program holds the file; the group commit tries again. */
const BUSY_MILLISECONDS = 20;

export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new DatabaseUnusable(
      `The folder ${path} cannot be made. Make it, with room and write access for this user, or set SIGNET_DATA_DIR.`,
      { cause },
    );
  }
}

/**
 * Two megabytes, SQLite's own choice, hold little more than the inner pages of the indexes over a million agents; these
 * hold a few thousand agents beside them. For the writer, which knows its own commits: the reader drops all that it has at
 * each of them.
 */
const CACHE_KIBIBYTES = 65_536;

export interface Connections {
  lock: DatabaseSync | null;
  writer: DatabaseSync;
  reader: DatabaseSync;
}

export function openConnections(path: string, access: Access): Connections {
  const lock = access === 'alone' ? lockFile(path) : null;
  try {
    const writer = openConnection(path);
    writer.exec(`pragma cache_size = -${CACHE_KIBIBYTES}`);
    const reader = openConnection(path);
    reader.exec('pragma query_only = on');
    return { lock, writer, reader };
  } catch (error) {
    lock?.close();
    throw error;
  }
}

export function openConnection(path: string): DatabaseSync {
  try {
    const connection = new DatabaseSync(path, { timeout: BUSY_MILLISECONDS });
    // NORMAL: the database is whole after any crash, and the group commit flushes the log before it answers anybody.
    // 32,000 pages: checkpoints are the matter of a thread, and only without it of a commit.
    connection.exec(
      'pragma journal_mode = wal; pragma synchronous = normal; pragma foreign_keys = on; pragma temp_store = memory; pragma wal_autocheckpoint = 32000',
    );
    // SQLite's own knows no letters but ASCII; PostgreSQL's knows them all.
    connection.function('lower', { deterministic: true }, (text) =>
      text === null ? null : String(text).toLowerCase(),
    );
    return connection;
  } catch (cause) {
    removeEmpty(path);
    throw cannotOpen(path, cause);
  }
}

/** What a disk without room leaves of a new file would look like an old one that was cut off. */
function removeEmpty(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.size === 0) rmSync(path, { force: true });
}

/**
 * SQLite's own lock on a file beside the database, held while the process lives: the operating system lets go of it
 * when the process ends, however it ends. A lock file with a process id in it would outlive a crash.
 */
export function lockFile(path: string): DatabaseSync {
  try {
    const lock = new DatabaseSync(`${path}.lock`, { timeout: 0 });
    lock.exec('begin exclusive');
    return lock;
  } catch (cause) {
    const isHeld = cause instanceof Error && 'errcode' in cause && cause.errcode === 5;
    throw new DatabaseUnusable(
      isHeld
        ? `Another process uses the database file ${path}. Stop it first: one process writes a SQLite file.`
        : `The lock file ${path}.lock cannot be opened. See that this user may write in its folder, and that the disk is not full.`,
      { cause },
    );
  }
}

import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** What the thread is told when it starts. */
export interface CheckpointOrder {
  path: string;
  everyMilliseconds: number;
  /** Fewer new pages than this are left where they are, as long as the log holds fewer than `mostPages` in all. */
  leastPages: number;
  mostPages: number;
}

/** How many pages the log holds after a checkpoint, those included that are in the database already. */
export type LogPages = number;

const { path, everyMilliseconds, leastPages, mostPages } = workerData as CheckpointOrder;
const connection = new DatabaseSync(path);
connection.exec('pragma synchronous = normal; pragma wal_autocheckpoint = 0');
const look = connection.prepare('pragma wal_checkpoint(noop)');
const checkpoint = connection.prepare('pragma wal_checkpoint(passive)');

setInterval(() => {
  try {
    const { log, checkpointed } = look.get() as { log: number; checkpointed: number };
    if (log - checkpointed < leastPages && log < mostPages) return;
    parentPort?.postMessage((checkpoint.get() as { log: LogPages }).log);
  } catch {
    // On a full disk, for one. What a checkpoint has not carried over, the next one does.
  }
}, everyMilliseconds);

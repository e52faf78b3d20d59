import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** What the thread is told when it starts. */
export interface CheckpointOrder {
  path: string;
  everyMilliseconds: number;
}

/** How many pages the log holds after a checkpoint, those included that are in the database already. */
export type LogPages = number;

const { path, everyMilliseconds } = workerData as CheckpointOrder;
const connection = new DatabaseSync(path);
connection.exec('pragma synchronous = normal; pragma wal_autocheckpoint = 0');
const checkpoint = connection.prepare('pragma wal_checkpoint(passive)');

setInterval(() => {
  try {
    const { log } = checkpoint.get() as { log: LogPages };
    parentPort?.postMessage(log);
  } catch {
    // On a full disk, for one. What a checkpoint has not carried over, the next one does.
  }
}, everyMilliseconds);

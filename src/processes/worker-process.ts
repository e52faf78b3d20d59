import cluster from 'node:cluster';
import type { FirstAdministrator, FromWorker, ToWorker } from './messages.ts';

export interface End {
  code: number | null;
  signal: string | null;
}

/** A worker process, as its supervisor sees it. */
export interface WorkerProcess {
  readonly pid: number;
  /** Never resolves where it ends before it listens. */
  readonly listening: Promise<FirstAdministrator>;
  readonly ended: Promise<End>;
  tell(message: ToWorker): void;
  onMessage(listener: (message: FromWorker) => void): void;
  kill(): void;
}

/**
 * Starts the same program again. The primary process holds the listening socket and hands each connection to the next
 * worker, so that the socket outlives its workers and no connection waits in the queue of one that is gone.
 */
export function forkWorker(env: Record<string, string>): WorkerProcess {
  cluster.schedulingPolicy = cluster.SCHED_RR;
  const worker = cluster.fork(env);
  // What cannot be told to a process that is gone is seen at its end.
  worker.on('error', () => {});
  const onMessage: WorkerProcess['onMessage'] = (listener) => worker.on('message', listener);
  return {
    pid: worker.process.pid ?? 0,
    listening: new Promise((resolve) => {
      onMessage((message) => {
        if (message.kind === 'listening') resolve(message.administrator);
      });
    }),
    ended: Promise.all([
      new Promise<End>((resolve) => worker.once('exit', (code, signal) => resolve({ code, signal }))),
      // Its last messages may be read later than its end is known.
      new Promise<void>((resolve) => worker.once('disconnect', resolve)),
    ]).then(([end]) => end),
    tell: (message) => {
      worker.send(message, () => {});
    },
    onMessage,
    kill: () => {
      worker.process.kill('SIGKILL');
    },
  };
}

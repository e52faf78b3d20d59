import type { Logger } from 'pino';
import { toLogEntry } from '../errors.ts';

/** What runs beside the requests. Both calls may come twice. */
export interface Worker {
  start(): void;
  /** Resolves when a run under way has ended. */
  stop(): Promise<void>;
}

interface Schedule {
  name: string;
  /** Between the end of one run and the beginning of the next. */
  intervalMs: number;
  /** Safe to run twice, and to be cut short by a crash at any point. */
  runOnce(): Promise<void>;
  log: Logger;
}

/** A loop around `runOnce`: a failure is logged, and the next turn tries again. */
export function every({ name, intervalMs, runOnce, log }: Schedule): Worker {
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> | null = null;
  let isStopped = true;

  function schedule(): void {
    timer = setTimeout(() => {
      running = runOnce()
        .catch((error: unknown) =>
          log.error({ cause: toLogEntry(error), worker: name }, 'worker failed; it will try again'),
        )
        .then(() => {
          running = null;
          if (!isStopped) schedule();
        });
    }, intervalMs);
    timer.unref();
  }

  return {
    start() {
      if (!isStopped) return;
      isStopped = false;
      schedule();
    },
    async stop() {
      isStopped = true;
      if (timer !== null) clearTimeout(timer);
      await running;
    },
  };
}

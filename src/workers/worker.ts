import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { OutageWatch } from '../db/outage-watch.ts';
import { toLogEntry } from '../errors.ts';

/** What runs beside the requests. Both calls may come twice. */
export interface Worker {
  start(): void;
  /** Resolves when a run under way has ended. */
  stop(): Promise<void>;
}

interface Schedule {
  name: string;
  clock: Clock;
  /** Between the end of one run and the beginning of the next. */
  intervalMs: number;
  /** Safe to run twice, and to be cut short by a crash at any point. */
  runOnce(): Promise<void>;
  log: Logger;
  /** Makes little noise of what an outage explains. */
  outages?: Pick<OutageWatch, 'levelOf'>;
}

/** A loop around `runOnce`: a failure is logged, and the next turn tries again. */
export function every({ name, clock, intervalMs, runOnce, log, outages }: Schedule): Worker {
  let callOff: (() => void) | null = null;
  let running: Promise<void> | null = null;
  let isStopped = true;

  function schedule(): void {
    callOff = clock.after(intervalMs, () => {
      running = run();
    });
  }

  async function run(): Promise<void> {
    try {
      await runOnce();
    } catch (error) {
      const level = outages?.levelOf(error) ?? 'error';
      log[level]({ cause: toLogEntry(error), worker: name }, 'worker failed; it will try again');
    }
    running = null;
    if (!isStopped) schedule();
  }

  return {
    start() {
      if (!isStopped) return;
      isStopped = false;
      schedule();
    },
    async stop() {
      isStopped = true;
      callOff?.();
      await running;
    },
  };
}

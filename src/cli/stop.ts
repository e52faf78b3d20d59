import { toFailure } from './failure.ts';

/** A stop that takes longer than this is cut short, so that an orchestrator never has to. */
const STOP_MILLISECONDS = 10_000;

/** Not once: npm passes on what the terminal has sent already, and the second must not cut the stop short. */
export function onStopSignals(stop: () => void): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
}

/** Ends the process when `stop` has, or with code 1 where it fails or takes too long. */
export function stopProcess(stop: () => Promise<unknown>, milliseconds = STOP_MILLISECONDS): void {
  setTimeout(() => process.exit(1), milliseconds).unref();
  stop().then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${toFailure(error).description}\n`);
      process.exit(1);
    },
  );
}

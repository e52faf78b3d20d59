/** Milliseconds since the Unix epoch. Everything that asks for the time asks this, so that tests own it. */
export interface Clock {
  now(): number;
  /** Calls `run` once, `milliseconds` from now at the soonest; what it returns calls that off. */
  after(milliseconds: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds).unref();
    return () => clearTimeout(timer);
  },
};

/** By the clock that only goes forward; `started` is of `performance.now()`. */
export const secondsSince = (started: number): number => (performance.now() - started) / 1000;

export const toSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

export const toTimestamp = (milliseconds: number): string => new Date(milliseconds).toISOString();

export const toTimestampOrNull = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : toTimestamp(milliseconds);

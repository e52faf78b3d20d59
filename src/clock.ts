/** Milliseconds since the Unix epoch. Everything that asks for the time asks this, so that tests own it. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

export const toSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

export const toTimestamp = (milliseconds: number): string => new Date(milliseconds).toISOString();

export const toTimestampOrNull = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : toTimestamp(milliseconds);

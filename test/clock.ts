import type { Clock } from '../src/clock.ts';

/** Stands still until a test moves it. */
export class TestClock implements Clock {
  #now = Date.now();

  now(): number {
    return this.#now;
  }

  advance(by: {
    days?: number;
    hours?: number;
    minutes?: number;
    seconds?: number;
    milliseconds?: number;
  }): void {
    const { days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0 } = by;
    this.#now += (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + milliseconds;
  }
}

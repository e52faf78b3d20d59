import type { Clock } from '../src/clock.ts';

interface Timer {
  at: number;
  run(): void;
}

/** Stands still until a test moves it; what is due by then runs in order. */
export class TestClock implements Clock {
  #now = Date.now();
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, run: () => void): () => void {
    const timer = { at: this.#now + milliseconds, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** As somebody sets a clock: no timer notices, since those run by another clock. */
  leap(days: number): void {
    this.#now += days * 86_400_000;
    for (const timer of this.#timers) timer.at += days * 86_400_000;
  }

  advance(by: {
    days?: number;
    hours?: number;
    minutes?: number;
    seconds?: number;
    milliseconds?: number;
  }): void {
    const { days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0 } = by;
    this.advanceTo(this.#now + (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + milliseconds);
  }

  /** Not backwards. */
  advanceTo(time: number): void {
    this.#now = Math.max(this.#now, time);
    const due = [...this.#timers].filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at);
    for (const timer of due) {
      this.#timers.delete(timer);
      timer.run();
    }
  }
}

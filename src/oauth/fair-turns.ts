import { temporarilyUnavailable } from '../errors.ts';

interface Limits {
  /** Work under way, and the part of it that one key may have. */
  atOnce: number;
  atOncePerKey: number;
  /** What waits beyond it is refused, so that memory stays bounded whatever comes. */
  waitingPerKey: number;
  longestWaitMilliseconds: number;
}

interface Waiting {
  since: number;
  start(): void;
  refuse(error: unknown): void;
}

/** Deals turns to keys in rounds, one each: whoever asks for much waits behind himself and not before the others. */
export class FairTurns {
  readonly #limits: Limits;
  /** In the order in which the keys have their next turn. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #running = new Map<string, number>();
  #count = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#waiting.has(key) || !this.#hasRoom(key)) await this.#wait(key);
    else this.#begin(key);
    try {
      return await work();
    } finally {
      this.#end(key);
      this.#deal();
    }
  }

  #hasRoom(key: string): boolean {
    return this.#count < this.#limits.atOnce && (this.#running.get(key) ?? 0) < this.#limits.atOncePerKey;
  }

  #wait(key: string): Promise<void> {
    const line = this.#waiting.get(key) ?? [];
    if (line.length >= this.#limits.waitingPerKey) throw temporarilyUnavailable();
    this.#waiting.set(key, line);
    return new Promise((start, refuse) => line.push({ since: performance.now(), start, refuse }));
  }

  #begin(key: string): void {
    this.#count += 1;
    this.#running.set(key, (this.#running.get(key) ?? 0) + 1);
  }

  #end(key: string): void {
    const left = (this.#running.get(key) ?? 0) - 1;
    this.#count -= 1;
    if (left > 0) this.#running.set(key, left);
    else this.#running.delete(key);
  }

  #deal(): void {
    for (const [key, line] of this.#waiting) {
      this.#refuseStale(line);
      const next = this.#hasRoom(key) ? line.shift() : undefined;
      if (next === undefined && line.length > 0) continue;
      this.#waiting.delete(key);
      if (line.length > 0) this.#waiting.set(key, line);
      if (next === undefined) continue;
      this.#begin(key);
      next.start();
      if (this.#count >= this.#limits.atOnce) return;
    }
  }

  #refuseStale(line: Waiting[]): void {
    const oldest = performance.now() - this.#limits.longestWaitMilliseconds;
    while (line[0] !== undefined && line[0].since < oldest) line.shift()?.refuse(temporarilyUnavailable());
  }
}

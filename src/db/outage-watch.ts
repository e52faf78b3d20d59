import type { Logger } from 'pino';
import { secondsSince } from '../clock.ts';
import { toLogEntry } from '../errors.ts';
import { DatabaseDamaged, type DatabaseUnavailable, isUnavailable } from './database.ts';

/** Tells of an outage once at each end. What it makes of requests and workers meanwhile needs no line of its own. */
export class OutageWatch {
  readonly #log: Logger;
  #since: number | null = null;

  constructor({ log }: { log: Logger }) {
    this.#log = log;
  }

  get isOn(): boolean {
    return this.#since !== null;
  }

  /** Whether this failure is one of those that its beginning has told of. */
  explains(error: unknown): boolean {
    return this.isOn && isUnavailable(error);
  }

  note(cause: DatabaseUnavailable | null): void {
    if (cause === null) this.#end();
    else this.#begin(cause);
  }

  #begin(cause: DatabaseUnavailable): void {
    // Damage may turn up in the middle of something else, and does not pass with it.
    if (this.isOn && !(cause instanceof DatabaseDamaged)) return;
    this.#since ??= performance.now();
    this.#log.error(
      { cause: toLogEntry(cause) },
      `the database is away or takes no writes. ${cause.message}`,
    );
  }

  #end(): void {
    if (this.#since === null) return;
    const seconds = Number(secondsSince(this.#since).toFixed(3));
    this.#since = null;
    this.#log.warn({ seconds }, 'the database is back');
  }
}

import type { Logger } from 'pino';
import { secondsSince } from '../clock.ts';
import { toLogEntry } from '../errors.ts';
import { DatabaseDamaged, DatabaseUnavailable } from './database.ts';

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

  /** How loud a failure is: of those that follow from an outage its beginning has told. */
  levelOf(error: unknown): 'debug' | 'error' {
    return this.isOn && isUnavailable(error) ? 'debug' : 'error';
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

/** It, or what was made of it for callers. */
const isUnavailable = (error: unknown): boolean =>
  error instanceof DatabaseUnavailable ||
  (error instanceof Error && error.cause instanceof DatabaseUnavailable);

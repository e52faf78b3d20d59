import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { FirstAdministrator } from './messages.ts';
import type { MetricsExchange } from './metrics-exchange.ts';
import type { End, WorkerProcess } from './worker-process.ts';

interface Deps {
  clock: Clock;
  log: Logger;
  /** How many workers there are. */
  size: number;
  fork(): WorkerProcess;
  exchange: MetricsExchange;
}

/** One of the workers; when its process ends, another takes the place. */
interface Place {
  process: WorkerProcess | null;
  startedAt: number;
  delayMs: number;
  callOff(): void;
}

/** A worker ended before all of them listened. */
export class StartFailed extends Error {
  readonly end: End;

  constructor(end: End) {
    super('A worker process ended before the service listened.');
    this.name = 'StartFailed';
    this.end = end;
  }
}

const FIRST_DELAY_MILLISECONDS = 100;
const LONGEST_DELAY_MILLISECONDS = 10_000;
/** Who has lived for so long did not die of what kills it at the start. */
const SETTLED_MILLISECONDS = 30_000;
/** A little later than a worker ends by itself, and in time for a stop of ten seconds. */
const STOP_MILLISECONDS = 9500;
const LEAVE_MILLISECONDS = 20_000;

/**
 * Keeps `size` worker processes running. While the service starts, a worker that ends is the end of it, as it would be
 * with one process; afterwards it is replaced, however often it takes.
 */
export class Supervisor {
  readonly #deps: Deps;
  readonly #places: readonly Place[];
  readonly #living = new Set<WorkerProcess>();
  readonly #failure = Promise.withResolvers<never>();
  #isUp = false;
  #isStopping = false;
  #stopping: Promise<boolean> | null = null;
  #isReplacementWanted = false;
  #replacing: Promise<void> = Promise.resolve();

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#places = Array.from({ length: deps.size }, () => ({
      process: null,
      startedAt: 0,
      delayMs: FIRST_DELAY_MILLISECONDS,
      callOff: () => {},
    }));
  }

  /** Resolves when all listen. One begins alone, and does what is to be done once. */
  start(): Promise<FirstAdministrator> {
    return Promise.race([this.#startAll(), this.#failure.promise]);
  }

  /** Replaces all workers, one after the other: the new one listens before the old one is told to leave. */
  replaceAll(): void {
    if (this.#isReplacementWanted || !this.#isUp) return;
    this.#isReplacementWanted = true;
    this.#replacing = this.#replacing.then(() => {
      this.#isReplacementWanted = false;
      return this.#replaceInTurn();
    });
  }

  /** Answers whether all stopped by themselves. May be called twice. */
  stop(): Promise<boolean> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #startAll(): Promise<FirstAdministrator> {
    const [first, ...others] = this.#places as [Place, ...Place[]];
    const administrator = await this.#fill(first).listening;
    if (!this.#isStopping) await Promise.all(others.map((place) => this.#fill(place).listening));
    this.#isUp = true;
    return administrator;
  }

  #fill(place: Place): WorkerProcess {
    const process = this.#fork(place);
    this.#put(place, process);
    return process;
  }

  #put(place: Place, process: WorkerProcess): void {
    place.process = process;
    place.startedAt = this.#deps.clock.now();
  }

  #fork(place: Place): WorkerProcess {
    const process = this.#deps.fork();
    this.#living.add(process);
    this.#deps.exchange.join(process);
    void process.ended.then((end) => {
      this.#living.delete(process);
      this.#deps.exchange.leave(process);
      if (place.process === process && !this.#isStopping) this.#refill(place, process, end);
    });
    return process;
  }

  #refill(place: Place, { pid }: WorkerProcess, end: End): void {
    place.process = null;
    if (!this.#isUp) {
      this.#failure.reject(new StartFailed(end));
      return;
    }
    const { clock, log } = this.#deps;
    if (clock.now() - place.startedAt >= SETTLED_MILLISECONDS) place.delayMs = FIRST_DELAY_MILLISECONDS;
    const { delayMs } = place;
    place.delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MILLISECONDS);
    log.warn({ pid, ...end, delayMs }, 'a worker process ended; another takes its place');
    place.callOff = clock.after(delayMs, () => this.#fill(place));
  }

  async #replaceInTurn(): Promise<void> {
    const { log } = this.#deps;
    log.info('replacing the worker processes, one after the other');
    for (const place of this.#places) {
      if (!(await this.#replace(place))) return;
    }
    log.info('all worker processes are replaced');
  }

  async #replace(place: Place): Promise<boolean> {
    if (this.#isStopping) return false;
    const successor = this.#fork(place);
    await Promise.race([successor.listening, successor.ended]);
    if (this.#isStopping) return false;
    if (!this.#living.has(successor)) {
      this.#deps.log.error('the new worker process did not start; those that run go on');
      return false;
    }
    const old = place.process;
    place.callOff();
    this.#put(place, successor);
    if (old !== null) await this.#dismiss(old);
    return true;
  }

  async #dismiss(process: WorkerProcess): Promise<void> {
    process.tell({ kind: 'stop', isLeaving: true });
    const callOff = this.#deps.clock.after(LEAVE_MILLISECONDS, () => process.kill());
    await process.ended;
    callOff();
  }

  async #stopAll(): Promise<boolean> {
    this.#isStopping = true;
    for (const place of this.#places) place.callOff();
    for (const process of this.#living) process.tell({ kind: 'stop', isLeaving: false });
    let isOrderly = true;
    const callOff = this.#deps.clock.after(STOP_MILLISECONDS, () => {
      isOrderly = false;
      for (const process of this.#living) process.kill();
    });
    await Promise.all([...this.#living].map(({ ended }) => ended));
    callOff();
    return isOrderly;
  }
}

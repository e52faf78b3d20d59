import cluster from 'node:cluster';
import { temporarilyUnavailable } from '../errors.ts';
import type { FirstAdministrator, FromWorker, Snapshot, ToWorker } from './messages.ts';

interface Supervised {
  readonly administrator: FirstAdministrator;
  metrics(): Promise<Snapshot>;
}

/** The supervisor should have answered long before. */
const ANSWER_MILLISECONDS = 5000;

/** A worker process's side of the conversation with its supervisor. */
export class SupervisorLink {
  readonly #asked = new Map<number, (metrics: readonly Snapshot[]) => void>();
  #lastId = 0;
  #service: Supervised | null = null;

  /** `stop` is called when the supervisor says so, and where it is gone. */
  constructor(stop: (options: { isLeaving: boolean }) => void) {
    process.on('message', (message: ToWorker) => {
      if (message.kind === 'stop') stop(message);
      if (message.kind === 'metrics-wanted') void this.#tellMetrics();
      if (message.kind === 'all-metrics') this.#asked.get(message.id)?.(message.metrics);
    });
    cluster.worker?.on('disconnect', () => {
      // Node would end the process at once, requests under way or not.
      if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
      stop({ isLeaving: false });
    });
  }

  /** The service listens, and is asked for its metrics from now on. */
  async serves(service: Supervised): Promise<void> {
    this.#service = service;
    await tell({ kind: 'listening', administrator: service.administrator });
  }

  /** What has been counted up to the end is not to be lost. */
  async sayGoodbye(): Promise<void> {
    await this.#tellMetrics();
  }

  /** The metrics of all processes of this instance. */
  allMetrics(): Promise<readonly Snapshot[]> {
    const id = ++this.#lastId;
    return new Promise<readonly Snapshot[]>((resolve, reject) => {
      const late = setTimeout(() => reject(temporarilyUnavailable()), ANSWER_MILLISECONDS);
      this.#asked.set(id, (metrics) => {
        clearTimeout(late);
        resolve(metrics);
      });
      void tell({ kind: 'all-metrics-wanted', id });
    }).finally(() => this.#asked.delete(id));
  }

  async #tellMetrics(): Promise<void> {
    if (this.#service !== null) await tell({ kind: 'metrics', metrics: await this.#service.metrics() });
  }
}

/** Resolves when it is sent, or when there is nobody left to hear it. */
function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected && process.send !== undefined) {
      process.send(message, undefined, undefined, () => resolve());
    } else resolve();
  });
}

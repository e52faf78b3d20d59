import type { Clock } from '../clock.ts';
import type { MetricSnapshot, Snapshot } from './messages.ts';
import type { WorkerProcess } from './worker-process.ts';

/** After this a process that does not answer counts with what it said the last time. */
const ANSWER_MILLISECONDS = 2000;

/**
 * Collects the metrics of all processes for the one that was asked for them. What those that ended had counted counts
 * on: a sum that falls would look like a restart of the whole, and the rest of it like requests of this minute.
 */
export class MetricsExchange {
  readonly #clock: Clock;
  readonly #latest = new Map<WorkerProcess, Snapshot>();
  #ofEnded: Snapshot = [];
  readonly #waiting = new Set<(process: WorkerProcess) => void>();

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  join(process: WorkerProcess): void {
    process.onMessage((message) => {
      if (message.kind === 'metrics') this.#take(process, message.metrics);
      if (message.kind === 'all-metrics-wanted') void this.#answer(process, message.id);
      // Only who serves has something to tell.
      if (message.kind === 'listening') this.#latest.set(process, []);
    });
  }

  leave(process: WorkerProcess): void {
    this.#ofEnded = addUp(this.#ofEnded, this.#latest.get(process) ?? []);
    this.#latest.delete(process);
    for (const hear of this.#waiting) hear(process);
  }

  #take(process: WorkerProcess, snapshot: Snapshot): void {
    if (!this.#latest.has(process)) return;
    this.#latest.set(process, snapshot);
    for (const hear of this.#waiting) hear(process);
  }

  async #answer(asking: WorkerProcess, id: number): Promise<void> {
    await this.#collect();
    asking.tell({ kind: 'all-metrics', id, metrics: [...this.#latest.values(), this.#ofEnded] });
  }

  #collect(): Promise<void> {
    const missing = new Set(this.#latest.keys());
    return new Promise((resolve) => {
      const end = () => {
        callOff();
        this.#waiting.delete(hear);
        resolve();
      };
      const hear = (process: WorkerProcess) => {
        missing.delete(process);
        if (missing.size === 0) end();
      };
      const callOff = this.#clock.after(ANSWER_MILLISECONDS, end);
      this.#waiting.add(hear);
      for (const process of missing) process.tell({ kind: 'metrics-wanted' });
    });
  }
}

/** Of what counts up: a gauge ends with its process. */
export function addUp(one: Snapshot, other: Snapshot): Snapshot {
  const sums = new Map<string, MetricSnapshot>();
  for (const metric of [...one, ...other]) {
    if (metric.type !== 'counter' && metric.type !== 'histogram') continue;
    const sum = sums.get(metric.name);
    sums.set(metric.name, sum === undefined ? metric : { ...sum, values: addValues(sum, metric) });
  }
  return [...sums.values()];
}

function addValues(one: MetricSnapshot, other: MetricSnapshot): MetricSnapshot['values'] {
  const sums = new Map<string, MetricSnapshot['values'][number]>();
  for (const entry of [...one.values, ...other.values]) {
    const key = JSON.stringify([entry.metricName, Object.entries(entry.labels).toSorted()]);
    sums.set(key, { ...entry, value: entry.value + (sums.get(key)?.value ?? 0) });
  }
  return [...sums.values()];
}

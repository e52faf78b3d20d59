/** The administrator that was made first, with the password where it was generated just now. */
export interface FirstAdministrator {
  email: string;
  generatedPassword: string | null;
}

/** One metric as prom-client writes it, of one process. */
export interface MetricSnapshot {
  name: string;
  /** A name; the types of prom-client say a number. */
  type: unknown;
  values: Array<{ value: number; labels: object; metricName?: string }>;
}

export type Snapshot = readonly MetricSnapshot[];

/** What a worker process tells its supervisor. */
export type FromWorker =
  | { kind: 'listening'; administrator: FirstAdministrator }
  | { kind: 'metrics'; metrics: Snapshot }
  | { kind: 'all-metrics-wanted'; id: number };

/** What the supervisor tells a worker process. */
export type ToWorker =
  /** With `isLeaving` another one has taken over, and the clients are told before their connections end. */
  | { kind: 'stop'; isLeaving: boolean }
  | { kind: 'metrics-wanted' }
  | { kind: 'all-metrics'; id: number; metrics: readonly Snapshot[] };

import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { secondsSince } from './clock.ts';
import type { Snapshot } from './processes/messages.ts';

type GrantType = 'client_credentials' | 'refresh_token';

/** What `/metrics` shows; each service has its own registry. */
export interface Metrics {
  /** In the Prometheus text format, of all processes of this instance. */
  text(): Promise<string>;
  readonly contentType: string;
  /** Of this process alone, to be added to those of the others. */
  snapshot(): Promise<Snapshot>;
  observeRequest(labels: { method: string; route: string; status: number }, seconds: number): void;
  /** Runs a grant and counts its outcome and latency. */
  token<T>(grantType: GrantType, run: () => Promise<T>): Promise<T>;
  introspection<T extends { active: boolean }>(run: () => Promise<T>): Promise<T>;
  observeCommit(transactions: number, seconds: number): void;
  /** `outcome` is the state that the attempt left its delivery in. */
  observeAttempt(outcome: string, seconds: number): void;
  /** Whether the database is there and takes writes, asked when the metrics are read. */
  watchDatabase(isUp: () => boolean): void;
  /** What waits to be sent, asked when the metrics are read. */
  watchDeliveries(read: () => { waiting: number; oldestDueSeconds: number }): void;
}

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** `collect` answers the snapshots of all processes of this instance, this one included, where there are several. */
export function createMetrics(collect?: () => Promise<readonly Snapshot[]>): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'signet_http_request_duration_seconds',
    help: 'HTTP requests by route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
    registers,
  });
  const tokens = new Counter({
    name: 'signet_tokens_issued_total',
    help: 'Access tokens issued.',
    labelNames: ['grant_type'],
    registers,
  });
  const refusals = new Counter({
    name: 'signet_token_requests_refused_total',
    help: 'Token requests that got an error.',
    labelNames: ['grant_type'],
    registers,
  });
  const tokenSeconds = new Histogram({
    name: 'signet_token_duration_seconds',
    help: 'Time from the validated request to the tokens.',
    labelNames: ['grant_type'],
    buckets: SECONDS,
    registers,
  });
  const introspections = new Counter({
    name: 'signet_introspections_total',
    help: 'Introspections by outcome.',
    labelNames: ['active'],
    registers,
  });
  const introspectionSeconds = new Histogram({
    name: 'signet_introspection_duration_seconds',
    help: 'Time from the validated request to the answer.',
    buckets: SECONDS,
    registers,
  });
  const commitSize = new Histogram({
    name: 'signet_store_commit_transactions',
    help: 'Transactions that shared one commit.',
    buckets: [1, 2, 4, 8, 16, 32],
    registers,
  });
  const commitSeconds = new Histogram({
    name: 'signet_store_commit_duration_seconds',
    help: 'Time from the begin to the durable end of a commit.',
    buckets: SECONDS,
    registers,
  });

  const attempts = new Histogram({
    name: 'signet_webhook_attempt_duration_seconds',
    help: 'Webhook requests by the state that they left their delivery in.',
    labelNames: ['outcome'],
    buckets: SECONDS,
    registers,
  });

  new Gauge({
    name: 'signet_processes',
    help: 'Processes that serve this instance.',
    registers,
  }).set(1);

  return {
    contentType: registry.contentType,
    snapshot: () => registry.getMetricsAsJSON(),
    text: async () =>
      (collect === undefined ? registry : AggregatorRegistry.aggregate([...(await collect())])).metrics(),
    observeAttempt: (outcome, seconds) => attempts.observe({ outcome }, seconds),
    watchDatabase(isUp) {
      new Gauge({
        name: 'signet_database_up',
        help: 'Whether the database takes writes: 0 from the first that it refused to the next that it took.',
        registers,
        // One process that is cut off is an alarm, whatever the others say.
        aggregator: 'min',
        collect() {
          this.set(isUp() ? 1 : 0);
        },
      });
    },
    watchDeliveries(read) {
      new Gauge({
        name: 'signet_webhook_deliveries_waiting',
        help: 'Deliveries that are not delivered yet, at the last count.',
        registers,
        // All processes count the same rows.
        aggregator: 'max',
        collect() {
          this.set(read().waiting);
        },
      });
      new Gauge({
        name: 'signet_webhook_oldest_due_seconds',
        help: 'For how long the delivery that waits the longest beyond its time has been due.',
        registers,
        aggregator: 'max',
        collect() {
          this.set(read().oldestDueSeconds);
        },
      });
    },
    observeRequest: (labels, seconds) => requests.observe(labels, seconds),
    observeCommit: (transactions, seconds) => {
      commitSize.observe(transactions);
      commitSeconds.observe(seconds);
    },
    async token(grantType, run) {
      const started = performance.now();
      try {
        const answer = await run();
        tokens.inc({ grant_type: grantType });
        tokenSeconds.observe({ grant_type: grantType }, secondsSince(started));
        return answer;
      } catch (error) {
        refusals.inc({ grant_type: grantType });
        throw error;
      }
    },
    async introspection(run) {
      const started = performance.now();
      const answer = await run();
      introspections.inc({ active: String(answer.active) });
      introspectionSeconds.observe(secondsSince(started));
      return answer;
    },
  };
}

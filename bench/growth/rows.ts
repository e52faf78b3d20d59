import { randomBytes } from 'node:crypto';
import { createIds, digestSecret, type Ids } from '../../src/ids.ts';
import { formatRefreshToken } from '../../src/oauth/refresh-token-format.ts';
import type { BenchClient } from '../requests.ts';

/** The rows that the service would have written, in the order in which it would have written them. */
export interface RowBatch {
  table: Table;
  rows: readonly Row[];
}

export type Row = readonly (string | number | null)[];
export type Table = keyof typeof columns;

/** By database type, for those that a batch fills; the rest stay null, as they do in the service. */
export const columns = {
  agents: {
    id: 'text',
    client_id: 'text',
    name: 'text',
    scopes: 'text',
    is_active: 'int',
    token_epoch: 'int',
    token_count: 'bigint',
    refresh_count: 'bigint',
    last_activity_at: 'bigint',
    created_at: 'bigint',
  },
  client_secrets: { agent_id: 'text', digest: 'text', created_at: 'bigint', last_used_at: 'bigint' },
  refresh_tokens: {
    client_secret_id: 'bigint',
    digest: 'text',
    grant_id: 'text',
    sequence: 'int',
    token_epoch: 'int',
    scopes: 'text',
    issued_at: 'bigint',
    expires_at: 'bigint',
  },
  revoked_tokens: { id: 'text', expires_at: 'bigint' },
  events: { id: 'text', type: 'text', payload: 'text', created_at: 'bigint' },
  deliveries: {
    id: 'text',
    webhook_id: 'text',
    event_id: 'text',
    event_type: 'text',
    status: 'text',
    attempts: 'int',
    max_attempts: 'int',
    last_attempt_at: 'bigint',
    next_attempt_at: 'bigint',
    created_at: 'bigint',
  },
  delivery_attempts: {
    delivery_id: 'text',
    attempt: 'int',
    started_at: 'bigint',
    duration_ms: 'int',
    status_code: 'int',
    response_start: 'text',
  },
} as const;

export interface FillSize {
  agents: number;
  refreshTokens: number;
  /** Revocations, and events with one delivery each. */
  history: number;
  /** How many agents and how many refresh tokens are for use, at most. */
  known: number;
}

/** What the load works with: spread evenly over all that there is, in no order. */
export interface Known {
  clients: BenchClient[];
  refreshTokens: string[];
}

const DAY = 86_400_000;
const BATCH = 5000;
const SCOPES = 'read write';

export function* rowsOf(size: FillSize, known: Known): Generator<RowBatch> {
  const clock = { time: 0, now: () => clock.time };
  const filling: Filling = { size, known, clock, ids: createIds(clock), until: Date.now() };
  yield* agentRows(filling);
  yield* refreshTokenRows(filling);
  yield* historyRows(filling);
  shuffle(known.clients);
  shuffle(known.refreshTokens);
}

interface Filling {
  size: FillSize;
  known: Known;
  clock: { time: number; now(): number };
  ids: Ids;
  until: number;
}

/** Made during the last year. */
function* agentRows({ size, known, clock, ids, until }: Filling): Generator<RowBatch> {
  const stride = Math.max(1, Math.floor(size.agents / size.known));
  for (const { from, to } of batches(size.agents)) {
    const agents: Row[] = [];
    const secrets: Row[] = [];
    for (let index = from; index < to; index++) {
      clock.time = until - 365 * DAY + Math.floor((index / size.agents) * 330 * DAY);
      const [id, clientId, now] = [ids.newId('agent'), ids.newId('cid'), clock.time];
      const used = until - DAY - (index % 1000) * 60_000;
      const clientSecret = index % stride === 0 ? ids.newClientSecret() : null;
      if (clientSecret !== null) known.clients.push({ clientId, clientSecret });
      agents.push([id, clientId, `worker ${index}`, SCOPES, 1, 0, 12, 3, used, now]);
      secrets.push([id, clientSecret === null ? randomDigest() : digestSecret(clientSecret), now, used]);
    }
    yield { table: 'agents', rows: agents };
    yield { table: 'client_secrets', rows: secrets };
  }
}

/** Of the last twenty days, so that none ends during the measurement; the agents come in no order. */
function* refreshTokenRows({ size, known, clock, ids, until }: Filling): Generator<RowBatch> {
  const stride = Math.max(1, Math.floor(size.refreshTokens / size.known));
  const secretIdOf = scattered(size.agents);
  for (const { from, to } of batches(size.refreshTokens)) {
    const rows: Row[] = [];
    for (let index = from; index < to; index++) {
      clock.time = until - 20 * DAY + Math.floor((index / size.refreshTokens) * 19 * DAY);
      const now = clock.time;
      const secret = index % stride === 0 ? ids.newRefreshTokenSecret() : null;
      if (secret !== null) known.refreshTokens.push(formatRefreshToken(index + 1, secret));
      const digest = secret === null ? randomDigest() : digestSecret(secret);
      rows.push([secretIdOf(index), digest, ids.newSortable(), 0, 0, SCOPES, now, now + 30 * DAY]);
    }
    yield { table: 'refresh_tokens', rows };
  }
}

function* historyRows({ size, clock, ids, until }: Filling): Generator<RowBatch> {
  const webhook = ids.newId('webhook');
  for (const { from, to } of batches(size.history)) {
    const [revoked, events, deliveries, attempts]: [Row[], Row[], Row[], Row[]] = [[], [], [], []];
    for (let index = from; index < to; index++) {
      clock.time = until - 20 * DAY + Math.floor((index / size.history) * 19 * DAY);
      const now = clock.time;
      const [event, delivery, jti] = [ids.newId('evt'), ids.newId('delivery'), `${ids.newSortable()}-0-0`];
      revoked.push([jti, now + 30 * DAY]);
      events.push([event, 'token.issued', tokenIssued({ event, jti, now, ids }), now]);
      deliveries.push([delivery, webhook, event, 'token.issued', 'delivered', 1, 5, now, now, now]);
      attempts.push([delivery, 1, now, 12, 204, '']);
    }
    yield { table: 'revoked_tokens', rows: revoked };
    yield { table: 'events', rows: events };
    yield { table: 'deliveries', rows: deliveries };
    yield { table: 'delivery_attempts', rows: attempts };
  }
}

function tokenIssued({ event, jti, now, ids }: { event: string; jti: string; now: number; ids: Ids }) {
  const subject = { agent_id: ids.newId('agent'), agent_name: 'worker 500000', client_id: ids.newId('cid') };
  const place = { organization_id: null, team_id: null };
  const timestamp = new Date(now).toISOString();
  const token = { token_id: jti, scope: SCOPES, expires_at: timestamp };
  const data = { ...subject, ...place, grant_type: 'client_credentials', ...token };
  return JSON.stringify({ id: event, type: 'token.issued', timestamp, data });
}

/** Of a secret that nobody knows. */
const randomDigest = (): string => randomBytes(32).toString('base64url');

/** Numbers from 1 to `count` in no visible order, each as often as the others. */
function scattered(count: number): (index: number) => number {
  const step = 7_368_787; // a prime, so that it has no divisor in common with the count
  return (index) => ((index * step) % count) + 1;
}

function* batches(count: number): Generator<{ from: number; to: number }> {
  for (let from = 0; from < count; from += BATCH) yield { from, to: Math.min(count, from + BATCH) };
}

function shuffle(items: unknown[]): void {
  for (let index = items.length - 1; index > 0; index--) {
    const other = Math.floor(Math.random() * (index + 1));
    [items[index], items[other]] = [items[other], items[index]];
  }
}

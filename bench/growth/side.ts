import { join } from 'node:path';
import { type Job, type Loaded, loadFrom, startLoad } from '../bench.ts';
import type { LoadRequest } from '../load.ts';
import type { Contestant } from '../peers/peer.ts';
import { introspection, refresh, tokenRequest } from '../requests.ts';
import { startSignet } from '../signet.ts';
import { readTreeUsage, treeUsageSince } from '../usage.ts';
import { type Fill, fillPostgres, fillSqlite } from './fill.ts';
import type { PostgresServer } from './postgres-server.ts';
import type { FillSize, Known } from './rows.ts';
import { sizesOfPostgres, sizesOfSqlite, type TableSize } from './table-sizes.ts';

/** One of the two that are compared: a service on a database of its own, filled. */
export interface Side {
  fillSeconds: number;
  sizes: readonly TableSize[];
  take(): Promise<SideSample>;
  stop(): Promise<void>;
}

export interface SideSample {
  tokens: Cost;
  introspections: Cost;
  refreshes: Cost;
  /** Tokens on a schedule that leaves the machine idle in between. */
  calm: Cost;
}

export interface Cost extends Loaded {
  /** CPU of the service but for its signatures, and of the database server, in microseconds for each request. */
  service: number;
  server: number;
}

export interface SideOptions {
  milliseconds: number;
  connections: number;
  /** Of the calm sample, as its length is. */
  perSecond: number;
  calmMilliseconds: number;
  refreshes: number;
}

interface Place {
  database: string;
  folder: string;
  fill: Fill;
  readSizes(): TableSize[] | Promise<TableSize[]>;
  server: PostgresServer | null;
}

export function sqlitePlace(folder: string): Place {
  const path = join(folder, 'data', 'signet.db');
  const readSizes = () => sizesOfSqlite(path);
  return { database: 'sqlite', folder, fill: fillSqlite(path), readSizes, server: null };
}

export async function postgresPlace(folder: string, server: PostgresServer, name: string): Promise<Place> {
  const database = await server.createDatabase(name);
  return {
    database,
    folder,
    fill: fillPostgres(database),
    readSizes: () => sizesOfPostgres(database),
    server,
  };
}

/** The service makes its tables and its keys, and is stopped while they are filled. */
export async function startSide(place: Place, size: FillSize, options: SideOptions): Promise<Side> {
  await (await startSignet(place)).stop();
  const started = performance.now();
  const known = await place.fill(size);
  const fillSeconds = (performance.now() - started) / 1000;
  const sizes = await place.readSizes();
  const signet = await startSignet(place);
  const process = startLoad();
  const contestant: Contestant = { ...signet, name: '', version: '', jwksPath: '', tokenRequests: [] };
  const loaded = loadFrom(process, options);
  const load = async (job: Job): Promise<Cost> => {
    const before = readTreeUsage(place.server?.pid);
    const outcome = await loaded(contestant, job);
    const server = treeUsageSince(before, readTreeUsage(place.server?.pid)) / outcome.count;
    const { usage, count } = outcome;
    return { ...outcome, server, service: usage === null ? Number.NaN : (usage.all - usage.pool) / count };
  };
  return {
    fillSeconds,
    sizes,
    take: () => takeSample(known, load, options),
    async stop() {
      await Promise.all([signet.stop(), process.stop()]);
    },
  };
}

/** The most tokens that a second of a sample can need. */
const FASTEST = 8000;

async function takeSample(
  known: Known,
  load: (job: Job) => Promise<Cost>,
  { milliseconds, perSecond, calmMilliseconds, refreshes }: SideOptions,
): Promise<SideSample> {
  const requests = tokenRequests(known, (milliseconds / 1000) * FASTEST);
  const tokens = await load({ requests, expects: 'access_token', isEndless: true, milliseconds });
  const introspections = await load({ requests: tokens.accessTokens.map(introspection), expects: 'active' });
  const taken = known.refreshTokens.splice(0, refreshes);
  const refreshed = await load({ requests: taken.map(refresh), expects: 'access_token' });
  known.refreshTokens.push(...refreshed.refreshTokens);
  const calm = await load({
    requests: tokenRequests(known, (calmMilliseconds / 1000) * perSecond),
    expects: 'access_token',
    perSecond,
    milliseconds: calmMilliseconds,
  });
  return { tokens, introspections, refreshes: refreshed, calm };
}

/** The next agents in turn: where there are many, each sample has others. */
function tokenRequests({ clients }: Known, count: number): LoadRequest[] {
  const taken = clients.splice(0, Math.min(count, clients.length));
  clients.push(...taken);
  return taken.map(tokenRequest('/oauth/token'));
}

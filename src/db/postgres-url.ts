import type { PoolConfig } from 'pg';

export interface PostgresOptions {
  url: string;
  /** The most connections at once. */
  connections: number;
  /** Not through a pooler that gives each transaction another connection of its own. */
  hasNamedStatements: boolean;
}

const CONNECT_MILLISECONDS = 3000;
const STATEMENT_MILLISECONDS = 5000;
const IDLE_IN_TRANSACTION_MILLISECONDS = 10_000;
/** For a server that does not even say that it has given up. */
const ANSWER_MILLISECONDS = 6000;
const IDLE_CONNECTION_MILLISECONDS = 60_000;

export function poolConfig(options: PostgresOptions, tls: { isEncrypted: boolean }): PoolConfig {
  return {
    ...connectionConfig(options.url, tls),
    max: options.connections,
    idleTimeoutMillis: IDLE_CONNECTION_MILLISECONDS,
    query_timeout: ANSWER_MILLISECONDS,
    ...sessionSettings(options),
  };
}

/** None through a pooler that shares connections, which refuses settings of one session: there the role has to carry them. */
export function sessionSettings({ hasNamedStatements }: PostgresOptions): PoolConfig {
  if (!hasNamedStatements) return {};
  return {
    statement_timeout: STATEMENT_MILLISECONDS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MILLISECONDS,
  };
}

/** What one connection needs, without the limits of a pool. */
export function connectionConfig(url: string, { isEncrypted }: { isEncrypted: boolean }): PoolConfig {
  const adjusted = new URL(url);
  // Left to itself, `pg` takes `prefer`, `require` and `verify-ca` all for `verify-full`.
  adjusted.searchParams.set('uselibpqcompat', 'true');
  adjusted.searchParams.set('sslmode', isEncrypted ? sslModeOf(url) : 'disable');
  return {
    connectionString: adjusted.href,
    application_name: 'signet',
    connectionTimeoutMillis: CONNECT_MILLISECONDS,
    keepAlive: true,
    keepAliveInitialDelayMillis: CONNECT_MILLISECONDS,
  };
}

/** Those of libpq but `allow`, which wants no TLS unless the server insists. */
export const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** As in libpq, `prefer` where the URL does not say. */
export function sslModeOf(url: string): string {
  return new URL(url).searchParams.get('sslmode') ?? 'prefer';
}

/** Which server and database a URL names, for people: without user and password. */
export function placeOf(url: string): string {
  const { hostname, port, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return host.startsWith('/')
    ? host
    : `${host || 'localhost'}:${searchParams.get('port') ?? (port || '5432')}`;
}

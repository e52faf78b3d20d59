import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import leven from 'leven';
import type { MasterKey } from './encryption.ts';
import type { DatabaseConfig } from './open-database.ts';
import { MOST_PROCESSES, Problem, type Setting, settings } from './settings.ts';

export interface Config {
  host: string;
  port: number;
  /** How many serve the port. */
  processes: number;
  /** The issuer, without a slash at its end. */
  publicUrl: string;
  dataDir: string;
  database: DatabaseConfig;
  adminEmail: string | null;
  adminPassword: string | null;
  masterKey: MasterKey | null;
  accessTokenSeconds: number;
  refreshTokenSeconds: number;
  hasRefreshTokens: boolean;
  scopes: readonly string[];
  audience: string;
  isIntrospectionOpen: boolean;
  isRevocationOpen: boolean;
  hasReasons: boolean;
  maxConnections: number;
  requestSeconds: number;
  /** Per minute and agent; null for any number. */
  tokensPerMinute: number | null;
  webhookTargets: 'any' | 'public';
  keyRotationDays: number;
  /** 0 keeps entries for ever. */
  auditDays: number;
  trustedProxies: readonly string[];
  logLevel: string;
}

/** All problems of a configuration, a line each. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

type Settings = typeof settings;
type Values = { [Name in keyof Settings]: ReturnType<Settings[Name]['parse']> | null };

/** Reads `process.env`, and a `.env` file in the working folder for what is not set there. */
export function loadConfig(): Config {
  const file = existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {};
  return toConfig({ ...file, ...process.env });
}

/** Throws one `ConfigError` with every problem that there is. */
export function toConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems = unknownNames(env);
  const values = Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [name, read(name, setting, env[name], problems)]),
  ) as Values;
  if (values.SIGNET_DATABASE_URL?.kind === 'postgres' && env['SIGNET_MASTER_KEY'] === undefined) {
    problems.push(
      'SIGNET_MASTER_KEY must be set with PostgreSQL, the same for every instance: openssl rand -base64 32.',
    );
  }
  const isSqlite = env['SIGNET_DATABASE_URL'] === undefined || values.SIGNET_DATABASE_URL?.kind === 'sqlite';
  if (isSqlite && typeof values.SIGNET_PROCESSES === 'number' && values.SIGNET_PROCESSES !== 1) {
    problems.push(
      'SIGNET_PROCESSES must be 1 with SQLite, whose file one process writes. Set SIGNET_DATABASE_URL to a postgres:// URL for more.',
    );
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return arrange(values);
}

function read(
  name: string,
  setting: Setting<unknown>,
  text: string | undefined,
  problems: string[],
): unknown {
  const chosen = text ?? setting.fallback;
  if (chosen === null) return null;
  try {
    return setting.parse(chosen);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    problems.push(`${name} ${error.message}`);
    return null;
  }
}

function unknownNames(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = Object.keys(settings);
  return Object.keys(env)
    .filter((name) => name.startsWith('SIGNET_') && !known.includes(name))
    .map((name) => {
      const nearest = known.toSorted((a, b) => leven(a, name) - leven(b, name))[0];
      return `${name} is not a setting. Did you mean ${nearest}?`;
    });
}

/** Values that are read are never null where their setting has a fallback. */
function arrange(values: Values): Config {
  const host = values.SIGNET_HOST as string;
  const port = values.SIGNET_PORT as number;
  const dataDir = values.SIGNET_DATA_DIR as string;
  const database = arrangeDatabase(values, dataDir);
  const issuer = values.SIGNET_PUBLIC_URL ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return {
    host,
    port,
    processes: arrangeProcesses(values, database),
    publicUrl: issuer,
    dataDir,
    database,
    adminEmail: values.SIGNET_ADMIN_EMAIL,
    adminPassword: values.SIGNET_ADMIN_PASSWORD,
    masterKey: values.SIGNET_MASTER_KEY,
    accessTokenSeconds: values.SIGNET_ACCESS_TOKEN_SECONDS as number,
    refreshTokenSeconds: values.SIGNET_REFRESH_TOKEN_SECONDS as number,
    hasRefreshTokens: values.SIGNET_REFRESH_TOKENS === 'on',
    scopes: values.SIGNET_SCOPES as string[],
    audience: values.SIGNET_AUDIENCE ?? issuer,
    isIntrospectionOpen: values.SIGNET_INTROSPECTION_AUTH === 'open',
    isRevocationOpen: values.SIGNET_REVOCATION_AUTH === 'open',
    hasReasons: values.SIGNET_INTROSPECTION_REASON === 'on',
    maxConnections: values.SIGNET_MAX_CONNECTIONS as number,
    requestSeconds: values.SIGNET_REQUEST_SECONDS as number,
    tokensPerMinute: values.SIGNET_TOKEN_RATE,
    webhookTargets: values.SIGNET_WEBHOOK_TARGETS ?? 'any',
    keyRotationDays: values.SIGNET_KEY_ROTATION_DAYS as number,
    auditDays: values.SIGNET_AUDIT_DAYS as number,
    trustedProxies: values.SIGNET_TRUSTED_PROXIES ?? [],
    logLevel: values.SIGNET_LOG_LEVEL as string,
  };
}

function arrangeProcesses({ SIGNET_PROCESSES: chosen }: Values, { kind }: DatabaseConfig): number {
  if (chosen !== 'auto') return chosen as number;
  return kind === 'sqlite' ? 1 : Math.min(availableParallelism(), MOST_PROCESSES);
}

function arrangeDatabase(values: Values, dataDir: string): DatabaseConfig {
  const database = values.SIGNET_DATABASE_URL ?? { kind: 'sqlite', path: join(dataDir, 'signet.db') };
  if (database.kind === 'sqlite') return database;
  return {
    ...database,
    connections: values.SIGNET_DATABASE_CONNECTIONS as number,
    hasNamedStatements: values.SIGNET_DATABASE_STATEMENTS === 'named',
  };
}

import { Kysely, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import type { OutageObserver, Queries, Tables } from './database.ts';
import { Outage } from './outage.ts';
import { SignetPostgresDialect } from './postgres-dialect.ts';
import { isSilence, isUnreachable, isUseless, NoConnection, translate } from './postgres-errors.ts';

/** What the parameters of a hot statement can be. */
export type Value = string | number | null | readonly (string | number | null)[];

interface Client {
  // biome-ignore lint/suspicious/noExplicitAny: rows are what their query says they are
  query(query: pg.QueryConfig): Promise<pg.QueryResult<any>>;
}

/** `silent`: a question was not answered in time, and nobody knows what became of it. */
type ConnectionState = 'usable' | 'broken' | 'silent';

/** A connection that belongs to its holder until it is released, its errors those of `database.ts`. */
export class PostgresConnection {
  readonly #client: Client;
  readonly #giveBack: (state: ConnectionState) => void;
  readonly #names: StatementNames | null;
  #state: ConnectionState = 'usable';

  constructor(
    client: Client,
    options: { names: StatementNames | null; giveBack: (state: ConnectionState) => void },
  ) {
    this.#client = client;
    this.#names = options.names;
    this.#giveBack = options.giveBack;
  }

  get isUsable(): boolean {
    return this.#state === 'usable';
  }

  async query(text: string, values: readonly unknown[] = []) {
    const name = this.#names?.of(text);
    const query = { text, values: values.map(toParameter) };
    return this.#send(name === undefined ? query : { ...query, name });
  }

  async run<Row>(text: string, values: readonly Value[]): Promise<Row[]> {
    return (await this.query(text, values)).rows as Row[];
  }

  /** For queries by Kysely on this connection; it does not release it. */
  queries(): Queries {
    return kyselyOver((text, values) => this.query(text, values));
  }

  release(): void {
    this.#giveBack(this.#state);
  }

  async #send(query: pg.QueryConfig) {
    try {
      return await this.#client.query(query);
    } catch (error) {
      if (isUseless(error)) this.#state = isSilence(error) ? 'silent' : 'broken';
      throw translate(error);
    }
  }
}

const MOST_NAMES = 500;
const IS_NAMED = /^\s*(select|with|insert|update|delete)\b/i;

/** A text is sent under one name: the server parses and plans it once for each connection, not each time. */
class StatementNames {
  readonly #names = new Map<string, string>();

  of(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= MOST_NAMES || !IS_NAMED.test(text)) return known;
    const name = `signet_${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }
}

type RunQuery = (text: string, values: readonly unknown[]) => Promise<unknown>;

export function kyselyOver(run: RunQuery): Queries {
  // The signature is overloaded for cursors, which nothing here uses.
  const query = run as unknown as PostgresPoolClient['query'];
  return new Kysely<Tables>({ dialect: new SignetPostgresDialect(async () => ({ query, release() {} })) });
}

/** A fixed number of connections that requests take turns on; waiting for one has an end. */
export class PostgresPool {
  readonly #config: pg.PoolConfig;
  readonly #names: StatementNames | null;
  readonly #outage: Outage;
  readonly #onOutage: OutageObserver;
  #pool: pg.Pool;

  constructor(
    config: pg.PoolConfig,
    { hasNames, onOutage = () => {} }: { hasNames: boolean; onOutage?: OutageObserver | undefined },
  ) {
    this.#config = { ...config, types };
    this.#names = hasNames ? new StatementNames() : null;
    this.#onOutage = onOutage;
    this.#outage = new Outage(
      () => askOnce(this.#config),
      () => onOutage(null),
    );
    this.#pool = openPool(this.#config);
  }

  async take(): Promise<PostgresConnection> {
    // Nobody else is made to find that out by waiting.
    if (this.#outage.isOn) throw new NoConnection('The database server does not answer.');
    try {
      const client = await this.#pool.connect();
      return new PostgresConnection(client, {
        names: this.#names,
        giveBack: (state) => this.#takeBack(client, state),
      });
    } catch (error) {
      const refusal = new NoConnection(error instanceof Error ? error.message : String(error), {
        cause: error,
      });
      if (isUnreachable(error)) this.#noteOutage(refusal);
      throw refusal;
    }
  }

  async close(): Promise<void> {
    this.#outage.close();
    if (!this.#pool.ending) await this.#pool.end();
  }

  #takeBack(client: pg.PoolClient, state: ConnectionState): void {
    client.release(state !== 'usable');
    if (state === 'silent') this.#noteOutage(new NoConnection('The database server does not answer.'));
  }

  /** The other connections may be as dead as the one that told, and would take as long to say so: all are replaced. */
  #noteOutage(cause: NoConnection): void {
    if (this.#pool.ending || !this.#outage.begin()) return;
    this.#onOutage(cause);
    this.#pool.end().catch(() => {});
    this.#pool = openPool(this.#config);
  }
}

function openPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  // A connection that breaks is dropped by the pool; whoever uses it at that moment learns it from his query.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

async function askOnce(config: pg.PoolConfig): Promise<void> {
  const client = new pg.Client(config);
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
  } finally {
    client.end().catch(() => {});
  }
}

const INT8 = 20;
const NUMERIC = 1700;

/** Counts, sums and milliseconds are numbers here; `pg` would rather make texts of what may exceed 2^53. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8 || oid === NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format ?? 'text')) as pg.CustomTypesConfig['getTypeParser'],
};

/** PostgreSQL's text has no place for NUL; what stands for an unreadable character stands for it too. */
export function toParameter(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;
  return Array.isArray(value) ? value.map(toParameter) : value;
}

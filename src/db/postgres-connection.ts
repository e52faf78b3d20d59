import { Kysely, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import type { Queries, Tables } from './database.ts';
import { SignetPostgresDialect } from './postgres-dialect.ts';
import { isUseless, NoConnection, translate } from './postgres-errors.ts';

/** What the parameters of a hot statement can be. */
export type Value = string | number | null | readonly (string | number | null)[];

interface Client {
  // biome-ignore lint/suspicious/noExplicitAny: rows are what their query says they are
  query(query: pg.QueryConfig): Promise<pg.QueryResult<any>>;
}

/** A connection that belongs to its holder until it is released, its errors those of `database.ts`. */
export class PostgresConnection {
  readonly #client: Client;
  readonly #giveBack: (isBroken: boolean) => void;
  readonly #names: StatementNames | null;
  #isBroken = false;

  constructor(
    client: Client,
    options: { names: StatementNames | null; giveBack: (isBroken: boolean) => void },
  ) {
    this.#client = client;
    this.#names = options.names;
    this.#giveBack = options.giveBack;
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
    return kyselyOver(async () => ({ query: this.#forKysely, release: () => {} }));
  }

  release(): void {
    this.#giveBack(this.#isBroken);
  }

  /** As Kysely wants it: released by it, too. */
  forKysely(): PostgresPoolClient {
    return { query: this.#forKysely, release: () => this.release() };
  }

  // The signature is overloaded for cursors, which nothing here uses.
  readonly #forKysely = ((text: string, values: readonly unknown[]) =>
    this.query(text, values)) as unknown as PostgresPoolClient['query'];

  async #send(query: pg.QueryConfig) {
    try {
      return await this.#client.query(query);
    } catch (error) {
      this.#isBroken ||= isUseless(error);
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

export const kyselyOver = (connect: () => Promise<PostgresPoolClient>): Queries =>
  new Kysely<Tables>({ dialect: new SignetPostgresDialect(connect) });

/** A fixed number of connections that requests take turns on; waiting for one has an end. */
export class PostgresPool {
  readonly #pool: pg.Pool;
  readonly #names: StatementNames | null;

  constructor(config: pg.PoolConfig, { hasNames }: { hasNames: boolean }) {
    this.#pool = new pg.Pool({ ...config, types });
    this.#names = hasNames ? new StatementNames() : null;
    // A connection that breaks is dropped by the pool; whoever uses it at that moment learns it from his query.
    this.#pool.on('error', () => {});
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  async take(): Promise<PostgresConnection> {
    try {
      const client = await this.#pool.connect();
      return new PostgresConnection(client, {
        names: this.#names,
        giveBack: (isBroken) => client.release(isBroken),
      });
    } catch (error) {
      throw new NoConnection(error instanceof Error ? error.message : String(error), { cause: error });
    }
  }

  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
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
function toParameter(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;
  return Array.isArray(value) ? value.map(toParameter) : value;
}

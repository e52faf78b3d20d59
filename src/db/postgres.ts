import { secondsSince } from '../clock.ts';
import type { CommitObserver, Database, Observers, Queries } from './database.ts';
import { kyselyOver, type PostgresConnection, PostgresPool, type Value } from './postgres-connection.ts';
import { CommitUnknown, isConflict, isConnectionLost } from './postgres-errors.ts';
import { migrateServer, openServer } from './postgres-open.ts';
import { type PostgresOptions, poolConfig } from './postgres-url.ts';
import { Retries } from './retry.ts';

/** Opens the database that the URL names and brings its tables up to date. */
export async function openPostgres(
  options: PostgresOptions,
  observers?: Observers,
): Promise<PostgresDatabase> {
  await migrateServer(options);
  return connectPostgres(options, observers);
}

/** Opens it as it is. */
export async function connectPostgres(
  options: PostgresOptions,
  { onCommit, onOutage }: Observers = {},
): Promise<PostgresDatabase> {
  const { isEncrypted } = await openServer(options);
  const pool = new PostgresPool(poolConfig(options, { isEncrypted }), {
    hasNames: options.hasNamedStatements,
    onOutage,
  });
  return new PostgresDatabase(pool, onCommit);
}

/**
 * A pool of connections to one server. Transactions are serializable, which keeps code that reads and then writes as
 * right as where transactions take turns; the hot paths, which are written for it, go without.
 */
export class PostgresDatabase implements Database {
  readonly reader: Queries;
  readonly #pool: PostgresPool;
  readonly #onCommit: CommitObserver;
  readonly #retries = new Retries();

  constructor(pool: PostgresPool, onCommit: CommitObserver = () => {}) {
    this.#pool = pool;
    this.#onCommit = onCommit;
    this.reader = kyselyOver((text, values) =>
      this.#retries.run(() => this.#onConnection((connection) => connection.query(text, values))),
    );
  }

  transaction<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    return this.#transaction(SERIALIZABLE, work);
  }

  audited<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    return this.#transaction(SERIALIZABLE_IN_TURN, work, (attempt) => this.#retries.runInLane(attempt));
  }

  readCommitted<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    return this.#transaction(READ_COMMITTED, work);
  }

  /** One statement that writes, committed as it ends. */
  async write<Row>(statement: string, values: readonly Value[]): Promise<Row[]> {
    const started = performance.now();
    const rows = await this.#retries.run(() =>
      this.#onConnection((connection) => connection.run<Row>(statement, values).catch(asCommit)),
    );
    this.#onCommit({ transactions: 1, seconds: secondsSince(started), tx: null });
    return rows;
  }

  /** One statement that reads what is committed. */
  read<Row>(statement: string, values: readonly Value[]): Promise<Row[]> {
    return this.#retries.run(() =>
      this.#onConnection((connection) => connection.run<Row>(statement, values)),
    );
  }

  report(): void {}

  async ping(): Promise<void> {
    await this.#onConnection((connection) => connection.query('select 1 from service_metadata limit 1'));
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #transaction<T>(
    begin: string,
    work: (tx: Queries) => Promise<T>,
    run: RunAttempts = (attempt) => this.#retries.run(attempt),
  ): Promise<T> {
    const started = performance.now();
    const { value, tx } = await run(() =>
      this.#onConnection(async (connection) => {
        const tx = connection.queries();
        return { value: await runTransaction(connection, begin, () => work(tx)), tx };
      }),
    );
    this.#onCommit({ transactions: 1, seconds: secondsSince(started), tx });
    return value;
  }

  async #onConnection<T>(run: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    const connection = await this.#pool.take();
    try {
      return await run(connection);
    } finally {
      connection.release();
    }
  }
}

type RunAttempts = <T>(attempt: () => Promise<T>) => Promise<T>;

const SERIALIZABLE = 'begin isolation level serializable';
const READ_COMMITTED = 'begin isolation level read committed';
/** The lock comes before the first query, and so before the picture that the transaction has of the database. */
const SERIALIZABLE_IN_TURN = `${SERIALIZABLE}; lock table audit_chain in exclusive mode`;

async function runTransaction<T>(
  connection: PostgresConnection,
  begin: string,
  work: () => Promise<T>,
): Promise<T> {
  await connection.query(begin);
  let value: T;
  try {
    value = await work();
  } catch (error) {
    // What is broken has rolled back by itself. Where this fails too, the release of the connection sees to it.
    if (connection.isUsable) await connection.query('rollback').catch(() => {});
    throw error;
  }
  const { command } = await connection.query('commit').catch(asCommit);
  // After a failed statement the server makes a rollback of the commit, and says so only here.
  if (command !== 'COMMIT') throw new Error('A transaction went on after one of its statements had failed.');
  return value;
}

/** A commit that ended in a conflict did not happen; of one whose connection broke nobody knows. */
function asCommit(error: unknown): never {
  if (isConflict(error) || !isConnectionLost(error)) throw error;
  throw new CommitUnknown('The connection broke during a commit.', { cause: error });
}

import { dirname } from 'node:path';
import { Kysely } from 'kysely';
import { Checkpoints } from './checkpoints.ts';
import {
  type Database,
  DatabaseDamaged,
  DatabaseUnavailable,
  type Observers,
  type OutageObserver,
  type Queries,
  type Tables,
  WritesRefused,
} from './database.ts';
import { GroupCommit } from './group-commit.ts';
import { migrate } from './migrate.ts';
import { Outage } from './outage.ts';
import {
  type Access,
  type Connections,
  lockFile,
  makeFolder,
  openConnections,
} from './sqlite-connections.ts';
import { NodeSqliteDialect, type PrepareStatement, statementCache, translated } from './sqlite-dialect.ts';
import { examineSqlite } from './sqlite-examine.ts';
import { WalFlush } from './wal-flush.ts';

/** Whatever else comes as reading runs on the connection that refuses to write. */
const READING = /^select /;

/** Opens or makes the database and brings its tables up to date. One that it cannot use it leaves as it is. */
export async function openSqlite(path: string, observers: Observers = {}): Promise<SqliteDatabase> {
  await examineAlone(path);
  const database = new SqliteDatabase(path, observers);
  try {
    // One transaction for all of it: a crash leaves the database as it was.
    await database.transaction(migrate);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** What a service wrote meanwhile would look like damage. */
async function examineAlone(path: string): Promise<void> {
  makeFolder(dirname(path));
  const lock = lockFile(path);
  try {
    await examineSqlite(path);
  } finally {
    lock.close();
  }
}

/**
 * One file, two connections: a writer, on which transactions run one at a time and share commits, and a reader, which
 * sees the last commit (WAL) while a transaction runs. Between transactions the writer reads too: what it has in memory
 * outlives its commits, and the reader's does not. Statements run on the main thread: an indexed one takes microseconds.
 */
export class SqliteDatabase implements Database {
  readonly reader: Queries;
  /** Prepared statements for the hot paths, to be run at once; the writer's only inside `transaction`. */
  readonly prepareRead: PrepareStatement;
  readonly prepareWrite: PrepareStatement;
  readonly #connections: Connections;
  readonly #writer: Queries;
  readonly #commits: GroupCommit;
  readonly #log: WalFlush;
  readonly #checkpoints: Checkpoints;
  readonly #outage: Outage;
  readonly #onOutage: OutageObserver;
  #trouble: DatabaseUnavailable | null = null;

  constructor(
    path: string,
    { onCommit = () => {}, onOutage = () => {} }: Observers = {},
    access: Access = 'alone',
  ) {
    makeFolder(dirname(path));
    this.#onOutage = onOutage;
    this.#outage = new Outage(
      () => this.#commits.run(() => this.#probe()),
      () => this.#noteEnd(),
    );
    const isAlone = access === 'alone';
    this.#log = new WalFlush(path, { isAlone, countFrames: () => this.#countFrames() });
    this.#connections = openConnections(path, access);
    const { writer, reader } = this.#connections;
    this.prepareWrite = statementCache(writer);
    const prepareBeside = statementCache(reader);
    this.prepareRead = (sql) =>
      writer.isTransaction || !READING.test(sql) ? prepareBeside(sql) : this.prepareWrite(sql);
    this.reader = new Kysely<Tables>({ dialect: new NodeSqliteDialect(this.prepareRead) });
    this.#writer = new Kysely<Tables>({ dialect: new NodeSqliteDialect(this.prepareWrite) });
    this.#checkpoints = new Checkpoints({ path, finish: () => this.#finishCheckpoint() });
    this.#commits = new GroupCommit(
      {
        execute: (sql) => translated(() => this.prepareWrite(sql).run()),
        isInTransaction: () => writer.isTransaction,
        prepare: () => this.#prepare(),
        flush: () => this.#flush(),
      },
      (transactions, seconds) => {
        this.#checkpoints.noteCommit();
        onCommit({ transactions, seconds, tx: this.#writer });
      },
    );
  }

  async transaction<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    try {
      return await this.#commits.run(() => work(this.#writer));
    } catch (error) {
      this.report(error);
      throw error;
    }
  }

  audited<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    return this.transaction(work);
  }

  readCommitted<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    return this.transaction(work);
  }

  async ping(): Promise<void> {
    translated(() => this.prepareRead('select 1 from service_metadata').get());
    if (this.#trouble === null) return;
    const { message } = this.#trouble;
    throw new WritesRefused(`Nothing can be written. ${message}`, { cause: this.#trouble });
  }

  report(error: unknown): void {
    if (!(error instanceof DatabaseUnavailable) || this.#trouble instanceof DatabaseDamaged) return;
    const isNews = this.#trouble === null || error instanceof DatabaseDamaged;
    this.#trouble = error;
    this.#outage.begin();
    if (isNews) this.#onOutage(error);
  }

  async close(): Promise<void> {
    this.#outage.close();
    await this.#commits.idle();
    await this.#checkpoints.close();
    this.#log.close();
    const { lock, writer, reader } = this.#connections;
    // The last one to close carries the log into the database, which only a log that is on the disk may be.
    const closing = this.#log.isSuspect ? [lock] : [reader, writer, lock];
    for (const connection of closing) if (connection?.isOpen) connection.close();
  }

  /** Nothing is added to a file that contradicts itself, nor to a log that may have a hole. */
  async #prepare(): Promise<void> {
    if (this.#trouble instanceof DatabaseDamaged) throw this.#trouble;
    await this.#log.trust();
  }

  async #flush(): Promise<void> {
    try {
      await this.#log.flush();
    } catch (error) {
      // A checkpoint would trust the log as well.
      await this.#checkpoints.close();
      throw error;
    }
  }

  /** Changes nothing, and yet writes a page to the log. */
  async #probe(): Promise<void> {
    translated(() => this.prepareWrite('pragma user_version = 0').run());
  }

  #noteEnd(): void {
    if (this.#trouble === null || this.#trouble instanceof DatabaseDamaged) return;
    this.#trouble = null;
    this.#onOutage(null);
  }

  #countFrames(): number {
    const { log } = translated(() => this.prepareRead('pragma wal_checkpoint(noop)').get()) as {
      log: number;
    };
    return Math.max(0, log);
  }

  #finishCheckpoint(): void {
    if (this.#connections.writer.isTransaction || this.#log.isSuspect) return;
    try {
      translated(() => this.prepareWrite('pragma wal_checkpoint(passive)').get());
    } catch (error) {
      // On a full disk, for one: the log goes on where it is, and a later one does the same.
      if (error instanceof DatabaseDamaged) this.report(error);
    }
  }
}

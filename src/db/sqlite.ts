import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { Checkpoints } from './checkpoints.ts';
import {
  type CommitObserver,
  type Database,
  DatabaseUnusable,
  type Queries,
  type Tables,
} from './database.ts';
import { GroupCommit } from './group-commit.ts';
import { migrate } from './migrate.ts';
import { NodeSqliteDialect, type PrepareStatement, statementCache, translated } from './sqlite-dialect.ts';
import { WalFlush } from './wal-flush.ts';

/** Whatever else comes as reading runs on the connection that refuses to write. */
const READING = /^select /;

/** `alone`: the one process that serves this file. `beside`: a command for a moment, whether or not one serves. */
export type Access = 'alone' | 'beside';

/** How long a statement holds the event loop up where another program holds the file; the group commit tries again. */
const BUSY_MILLISECONDS = 20;

/** Opens or makes the database and brings its tables up to date. */
export async function openSqlite(path: string, onCommit?: CommitObserver): Promise<SqliteDatabase> {
  const database = new SqliteDatabase(path, onCommit);
  try {
    // One transaction for all of it: a crash leaves the database as it was.
    await database.transaction(migrate);
    return database;
  } catch (error) {
    await database.close();
    throw error;
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

  constructor(path: string, onCommit: CommitObserver = () => {}, access: Access = 'alone') {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    this.#connections = openConnections(path, access);
    const { writer, reader } = this.#connections;
    this.prepareWrite = statementCache(writer);
    const prepareBeside = statementCache(reader);
    this.prepareRead = (sql) =>
      writer.isTransaction || !READING.test(sql) ? prepareBeside(sql) : this.prepareWrite(sql);
    this.reader = new Kysely<Tables>({ dialect: new NodeSqliteDialect(this.prepareRead) });
    this.#writer = new Kysely<Tables>({ dialect: new NodeSqliteDialect(this.prepareWrite) });
    this.#log = new WalFlush(path);
    this.#checkpoints = new Checkpoints({ path, finish: () => this.#finishCheckpoint() });
    this.#commits = new GroupCommit(
      {
        execute: (sql) => translated(() => this.prepareWrite(sql).run()),
        isInTransaction: () => writer.isTransaction,
        flush: () => this.#log.flush(),
      },
      (transactions, seconds) => {
        this.#checkpoints.noteCommit();
        onCommit({ transactions, seconds, tx: this.#writer });
      },
    );
  }

  transaction<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    return this.#commits.run(() => work(this.#writer));
  }

  audited<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    return this.transaction(work);
  }

  readCommitted<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    return this.transaction(work);
  }

  async ping(): Promise<void> {
    translated(() => this.prepareRead('select 1 from service_metadata').get());
  }

  async close(): Promise<void> {
    await this.#commits.idle();
    await this.#checkpoints.close();
    this.#log.close();
    const { lock, writer, reader } = this.#connections;
    for (const connection of [reader, writer, lock]) if (connection?.isOpen) connection.close();
  }

  #finishCheckpoint(): void {
    if (!this.#connections.writer.isTransaction) this.prepareWrite('pragma wal_checkpoint(passive)').get();
  }
}

interface Connections {
  lock: DatabaseSync | null;
  writer: DatabaseSync;
  reader: DatabaseSync;
}

function openConnections(path: string, access: Access): Connections {
  const lock = access === 'alone' ? lockFile(path) : null;
  try {
    const writer = openConnection(path);
    const reader = openConnection(path);
    reader.exec('pragma query_only = on');
    return { lock, writer, reader };
  } catch (error) {
    lock?.close();
    throw error;
  }
}

export function openConnection(path: string): DatabaseSync {
  try {
    const connection = new DatabaseSync(path, { timeout: BUSY_MILLISECONDS });
    // NORMAL: the database is whole after any crash, and the group commit flushes the log before it answers anybody.
    // 32,000 pages: checkpoints are the matter of a thread, and only without it of a commit.
    connection.exec(
      'pragma journal_mode = wal; pragma synchronous = normal; pragma foreign_keys = on; pragma temp_store = memory; pragma wal_autocheckpoint = 32000',
    );
    // SQLite's own knows no letters but ASCII; PostgreSQL's knows them all.
    connection.function('lower', { deterministic: true }, (text) =>
      text === null ? null : String(text).toLowerCase(),
    );
    return connection;
  } catch (cause) {
    throw new DatabaseUnusable(
      `The database file ${path} cannot be opened. See that it is a SQLite database that this user may write.`,
      { cause },
    );
  }
}

/**
 * SQLite's own lock on a file beside the database, held while the process lives: the operating system lets go of it
 * when the process ends, however it ends. A lock file with a process id in it would outlive a crash.
 */
export function lockFile(path: string): DatabaseSync {
  try {
    const lock = new DatabaseSync(`${path}.lock`, { timeout: 0 });
    lock.exec('begin exclusive');
    return lock;
  } catch (cause) {
    const isHeld = cause instanceof Error && 'errcode' in cause && cause.errcode === 5;
    throw new DatabaseUnusable(
      isHeld
        ? `Another process uses the database file ${path}. Stop it first: one process writes a SQLite file.`
        : `The lock file ${path}.lock cannot be opened. See that this user may write in its folder.`,
      { cause },
    );
  }
}

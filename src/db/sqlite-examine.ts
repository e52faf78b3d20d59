import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { DatabaseDamaged, DatabaseUnusable, type Queries, type Tables } from './database.ts';
import { pendingMigrations } from './migrate.ts';
import { NodeSqliteDialect, statementCache, translated } from './sqlite-dialect.ts';
import { isLogDamaged } from './wal-inspect.ts';

/** Up to here a check of every page takes a tenth of a second. */
const SMALL_BYTES = 32 * 1024 * 1024;

/**
 * Refuses a database that cannot be used, before anything opens it to write: what is wrong with it stays as it was found.
 * A large one is not read whole, which would take minutes: only to the first and the last row of each table and index.
 */
export async function examineSqlite(path: string, smallBytes = SMALL_BYTES): Promise<void> {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  const logSize = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (size === undefined && logSize === 0) return;
  if (size === undefined || size === 0) throw cutOff(path);
  if (isLogDamaged(path)) throw damaged(path, 'its log (-wal) has a hole');
  const connection = openToRead(path);
  try {
    // A checkpoint that was cut short may leave a part of a page, which its log still has.
    if (logSize === 0 && size % pageSize(connection) !== 0) throw damaged(path, 'its end is missing');
    if (size > smallBytes) lookAtEnds(connection);
    else checkEveryPage(connection, path);
    await refuseStrangers(
      new Kysely<Tables>({ dialect: new NodeSqliteDialect(statementCache(connection)) }),
      path,
    );
  } catch (error) {
    throw error instanceof DatabaseDamaged ? damaged(path, reasonOf(error), error) : error;
  } finally {
    connection.close();
  }
}

export const cannotOpen = (path: string, cause: unknown): DatabaseUnusable =>
  new DatabaseUnusable(
    `The database file ${path} cannot be opened. See that it is a SQLite database that this user may write, and that the disk is not full.`,
    { cause },
  );

const damaged = (path: string, what: string, cause?: unknown): DatabaseUnusable =>
  new DatabaseUnusable(
    `The database file ${path} is damaged: ${what}. It was left as it is. Restore it from a backup.`,
    { cause },
  );

const cutOff = (path: string): DatabaseUnusable =>
  new DatabaseUnusable(
    `The database file ${path} is empty or missing, but was made. Restore it from a backup; to begin anew, remove it and the files ${path}-wal and ${path}-shm.`,
  );

function openToRead(path: string): DatabaseSync {
  try {
    const connection = new DatabaseSync(path, { readOnly: true, timeout: 1000 });
    connection.exec('pragma schema_version');
    return connection;
  } catch (cause) {
    if (cause instanceof Error && 'errcode' in cause && cause.errcode === CORRUPT) {
      throw damaged(path, cause.message, cause);
    }
    throw cannotOpen(path, cause);
  }
}

const CORRUPT = 11;

function checkEveryPage(connection: DatabaseSync, path: string): void {
  const row = translated(() => connection.prepare('pragma quick_check(1)').get());
  const verdict = String(Object.values(row ?? {})[0]);
  // After its first line it names pages, which help nobody here.
  if (verdict !== 'ok') throw damaged(path, verdict.split('\n')[0] ?? verdict);
}

const pageSize = (connection: DatabaseSync): number =>
  Number(connection.prepare('pragma page_size').get()?.['page_size']);

/** Each is a tree; the ways down to its ends pass its root and a page of each level. */
function lookAtEnds(connection: DatabaseSync): void {
  const tables = translated(() =>
    connection.prepare("select name from sqlite_schema where type = 'table'").all(),
  );
  for (const { name } of tables) {
    for (const order of endsOf(connection, String(name))) {
      translated(() => connection.prepare(`select * from "${name}" ${order} limit 1`).get());
    }
  }
}

function endsOf(connection: DatabaseSync, table: string): string[] {
  const indexes = connection.prepare('select name from pragma_index_list(?)').all(table);
  const columns = indexes.flatMap(({ name }) => {
    const first = connection
      .prepare('select name from pragma_index_info(?) where seqno = 0')
      .get(String(name));
    return typeof first?.['name'] === 'string' ? [`"${first['name']}"`] : [];
  });
  return [...new Set(['rowid', ...columns])].flatMap((column) => [
    `order by ${column}`,
    `order by ${column} desc`,
  ]);
}

/** Tables of something else would be mixed with ours. */
async function refuseStrangers(db: Queries, path: string): Promise<void> {
  if ((await pendingMigrations(db)).length === 0) return;
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  const isOurs = tables.length === 0 || tables.some(({ name }) => name === 'schema_migrations');
  if (isOurs) return;
  throw new DatabaseUnusable(
    `The database file ${path} belongs to another program. Set SIGNET_DATABASE_URL to a file of Signet's own.`,
  );
}

const reasonOf = (error: DatabaseDamaged): string =>
  error.cause instanceof Error ? error.cause.message : error.message;

import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import {
  type CopySource,
  type CopyTarget,
  columnList,
  countSql,
  keyOf,
  pageSql,
  type Row,
} from './copy-end.ts';
import type { CopyTable } from './copy-tables.ts';
import type { Tables } from './database.ts';
import { migrate } from './migrate.ts';
import { lockFile, openConnection } from './sqlite-connections.ts';
import { NodeSqliteDialect, statementCache, translated } from './sqlite-dialect.ts';

/** A file that no service uses, nor can until this is closed. What commands write meanwhile is not seen. */
export async function openSqliteSource(path: string): Promise<CopySource> {
  const { connection, close } = openLocked(realpathSync(path));
  try {
    translated(() => connection.exec('pragma query_only = on; begin; select 1 from sqlite_schema'));
    return sourceOn(connection, close);
  } catch (error) {
    await close();
    throw error;
  }
}

/** The file is made where it is missing, and its tables with it, in the transaction of the copy. */
export async function openSqliteTarget(path: string): Promise<CopyTarget> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const isNew = !existsSync(path);
  const { connection, close } = openLocked(isNew ? path : realpathSync(path));
  try {
    // A WAL would hold all of the new file once more; the other journal notes what was in it before, which is nothing.
    if (isNew) connection.exec('pragma journal_mode = delete');
    connection.exec(`pragma cache_size = -${CACHE_KIBIBYTES}`);
    translated(() => connection.exec('begin immediate'));
    const target = targetOn(connection, close);
    await migrate(target.queries);
    return target;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Indexes are written in another order than rows are: what does not stay in memory is written more than once. */
const CACHE_KIBIBYTES = 65_536;

function openLocked(path: string): { connection: DatabaseSync; close(): Promise<void> } {
  const lock = lockFile(path);
  try {
    const connection = openConnection(path);
    return {
      connection,
      async close() {
        for (const opened of [connection, lock]) if (opened.isOpen) opened.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

function sourceOn(connection: DatabaseSync, close: () => Promise<void>): CopySource {
  const prepare = statementCache(connection);
  return {
    queries: new Kysely<Tables>({ dialect: new NodeSqliteDialect(statementCache(connection)) }),
    count: async (table) => Number(translated(() => prepare(countSql(table)).get())?.['rows']),
    async page(table, last) {
      const statement = prepare(pageSql(table, last === null ? null : table.key.map(() => '?')));
      statement.setReturnArrays(true);
      const rows = translated(() => statement.all(...(last === null ? [] : keyOf(table, last))));
      return rows as unknown as Row[];
    },
    close,
  };
}

function targetOn(connection: DatabaseSync, close: () => Promise<void>): CopyTarget {
  const prepare = statementCache(connection);
  return {
    ...sourceOn(connection, close),
    toStorable: (cell) => cell,
    async insert(table, rows) {
      const statement = prepare(insertSql(table));
      translated(() => {
        for (const row of rows) statement.run(...row);
      });
    },
    // New ids continue after the highest one by themselves.
    settle: async () => {},
    commit: async () => translated(() => connection.exec('commit')),
  };
}

const insertSql = (table: CopyTable): string =>
  `insert into "${table.name}" (${columnList(table)}) values (${table.columns.map(() => '?').join(', ')})`;

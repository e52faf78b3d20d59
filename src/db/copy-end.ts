import type { CopyTable } from './copy-tables.ts';
import type { Queries } from './database.ts';

export type Cell = string | number | null;
/** In the order of the table's columns. */
export type Row = readonly Cell[];

/** A database that is read as it was at one moment. */
export interface CopySource {
  readonly queries: Queries;
  count(table: CopyTable): Promise<number>;
  /** The next rows in the order of the key: the first ones, or those after `last`. */
  page(table: CopyTable, last: Row | null): Promise<Row[]>;
  close(): Promise<void>;
}

/** A database in one transaction, which stands only once it is committed; a close before that undoes all of it. */
export interface CopyTarget extends CopySource {
  /** What this database keeps of a value. */
  toStorable(cell: Cell): Cell;
  insert(table: CopyTable, rows: readonly Row[]): Promise<void>;
  /** What is due once all rows are in it. */
  settle(tables: readonly CopyTable[]): Promise<void>;
  commit(): Promise<void>;
}

/** A page is in memory at once, with texts of up to 64 KiB in its rows. */
export const ROWS_PER_PAGE = 500;

const quoted = (name: string): string => `"${name}"`;
const list = (names: readonly string[]): string => names.map(quoted).join(', ');

export const columnList = (table: CopyTable): string => list(table.columns.map(({ name }) => name));

export const countSql = (table: CopyTable): string => `select count(*) as rows from ${quoted(table.name)}`;

/** Goes on by the key, so that the last page costs what the first one does. */
export function pageSql(table: CopyTable, after: readonly string[] | null): string {
  const where = after === null ? '' : ` where (${list(table.key)}) > (${after.join(', ')})`;
  return `select ${columnList(table)} from ${quoted(table.name)}${where}
    order by ${list(table.key)} limit ${ROWS_PER_PAGE}`;
}

export function keyOf(table: CopyTable, row: Row): Cell[] {
  return table.key.map((name) => row[table.columns.findIndex((column) => column.name === name)] ?? null);
}

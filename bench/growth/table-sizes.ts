import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { columns } from './rows.ts';

export interface TableSize {
  table: string;
  rows: number;
  /** Of the table alone, and of each of its indexes. */
  bytes: number;
  indexes: Record<string, number>;
}

const tables = Object.keys(columns);

export function sizesOfSqlite(path: string): TableSize[] {
  const database = new DatabaseSync(path);
  const bytesOf = new Map<string, number>();
  for (const { name, bytes } of database
    .prepare('select name, pgsize as bytes from dbstat where aggregate = true')
    .all()) {
    bytesOf.set(String(name), Number(bytes));
  }
  const listIndexes = database.prepare(
    "select name from sqlite_schema where type = 'index' and tbl_name = ?",
  );
  const sizes = tables.map((table) => ({
    table,
    rows: Number(database.prepare(`select count(*) as count from ${table}`).get()?.['count']),
    bytes: bytesOf.get(table) ?? 0,
    indexes: Object.fromEntries(
      listIndexes.all(table).map(({ name }) => [String(name), bytesOf.get(String(name)) ?? 0]),
    ),
  }));
  database.close();
  return sizes;
}

export async function sizesOfPostgres(url: string): Promise<TableSize[]> {
  const client = new pg.Client(url);
  await client.connect();
  const sizes: TableSize[] = [];
  for (const table of tables) {
    const { rows } = await client.query<{ count: string; bytes: string }>(
      `select count(*), pg_table_size('${table}') as bytes from ${table}`,
    );
    const { rows: indexes } = await client.query<{ name: string; bytes: string }>(
      `select indexrelid::regclass as name, pg_relation_size(indexrelid) as bytes from pg_index
        where indrelid = '${table}'::regclass`,
    );
    sizes.push({
      table,
      rows: Number(rows[0]?.count),
      bytes: Number(rows[0]?.bytes),
      indexes: Object.fromEntries(indexes.map(({ name, bytes }) => [name, Number(bytes)])),
    });
  }
  await client.end();
  return sizes;
}

export function printSizes(title: string, sizes: readonly TableSize[]): string {
  const each = (bytes: number, rows: number) => Math.round(bytes / rows);
  return [
    `### ${title}: bytes per row`,
    '',
    '| table | rows | row | indexes | together | of which |',
    '|---|---:|---:|---:|---:|---|',
    ...sizes
      .filter(({ rows }) => rows > 0)
      .map(({ table, rows, bytes, indexes }) => {
        const inIndexes = Object.values(indexes).reduce((sum, size) => sum + size, 0);
        const parts = Object.entries(indexes).map(([name, size]) => `${name} ${each(size, rows)}`);
        const cells = [rows, each(bytes, rows), each(inIndexes, rows), each(bytes + inIndexes, rows)];
        return `| ${table} | ${cells.join(' | ')} | ${parts.join(', ')} |`;
      }),
  ].join('\n');
}

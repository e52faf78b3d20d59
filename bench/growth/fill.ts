import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { columns, type FillSize, type Known, type RowBatch, rowsOf, type Table } from './rows.ts';

/** Fills a database that the service has just made and does not use at the moment. */
export type Fill = (size: FillSize) => Promise<Known>;

const COMMIT_EVERY = 50;

/** Nothing has to be durable yet, and the indexes have to stay in memory. */
const FILL_FAST = 'pragma synchronous = off; pragma cache_size = -1000000; pragma foreign_keys = off';

export const fillSqlite =
  (path: string): Fill =>
  async (size) => {
    const database = new DatabaseSync(path);
    const known: Known = { clients: [], refreshTokens: [] };
    database.exec(`${FILL_FAST}; begin`);
    let count = 0;
    for (const batch of rowsOf(size, known)) {
      insert(database, batch);
      if (++count % COMMIT_EVERY === 0) database.exec('commit; begin');
    }
    database.exec('commit; pragma wal_checkpoint(truncate)');
    database.close();
    return known;
  };

function insert(database: DatabaseSync, { table, rows }: RowBatch): void {
  const names = Object.keys(columns[table]);
  const marks = names.map(() => '?').join(', ');
  const statement = database.prepare(`insert into ${table} (${names.join(', ')}) values (${marks})`);
  for (const row of rows) statement.run(...row);
}

export const fillPostgres =
  (url: string): Fill =>
  async (size) => {
    const client = new pg.Client(url);
    await client.connect();
    const known: Known = { clients: [], refreshTokens: [] };
    await client.query('set synchronous_commit = off');
    for (const { table, rows } of rowsOf(size, known)) {
      const names = Object.keys(columns[table]);
      await client.query(
        insertAll(table),
        names.map((_, index) => rows.map((row) => row[index])),
      );
    }
    // What autovacuum does in a database that has grown in its own time.
    await client.query('vacuum (analyze, freeze)');
    await client.query('checkpoint');
    await client.end();
    return known;
  };

function insertAll(table: Table): string {
  const names = Object.keys(columns[table]).join(', ');
  const arrays = Object.values(columns[table]).map((type, index) => `$${index + 1}::${type}[]`);
  return `insert into ${table} (${names}) select * from unnest(${arrays.join(', ')})`;
}

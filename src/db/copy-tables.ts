import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import type { Tables } from './database.ts';
import { MIGRATION_TABLES, migrate } from './migrate.ts';
import { NodeSqliteDialect, statementCache } from './sqlite-dialect.ts';

/** A table as every database has it that is up to date. */
export interface CopyTable {
  name: string;
  columns: readonly { name: string; type: 'integer' | 'text' }[];
  /** The columns of the primary key. */
  key: readonly string[];
  /** The tables that its foreign keys point to. */
  references: readonly string[];
}

/**
 * All tables that the migrations make, each after those that it refers to. They are asked of a database in memory that
 * the migrations have just made: a list that is written down would forget a table some day.
 */
export async function tablesToCopy(): Promise<CopyTable[]> {
  using connection = new DatabaseSync(':memory:');
  await migrate(new Kysely<Tables>({ dialect: new NodeSqliteDialect(statementCache(connection)) }));
  const names = connection
    .prepare(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by rowid",
    )
    .all()
    .map((row) => String(row['name']))
    .filter((name) => !MIGRATION_TABLES.includes(name));
  return inOrder(names.map((name) => describe(connection, name)));
}

function describe(connection: DatabaseSync, name: string): CopyTable {
  const columns = connection
    .prepare('select name, type, pk from pragma_table_info(?) order by cid')
    .all(name);
  const parts = columns.filter(({ pk }) => Number(pk) > 0).sort((a, b) => Number(a['pk']) - Number(b['pk']));
  const references = connection.prepare('select "table" from pragma_foreign_key_list(?)').all(name);
  return {
    name,
    columns: columns.map((column) => ({
      name: String(column['name']),
      type: String(column['type']).toLowerCase() === 'integer' ? 'integer' : 'text',
    })),
    key: parts.map((column) => String(column['name'])),
    references: references.map((row) => String(row['table'])),
  };
}

function inOrder(tables: readonly CopyTable[]): CopyTable[] {
  const placed: CopyTable[] = [];
  const isPlaced = (name: string) => placed.some((table) => table.name === name);
  while (placed.length < tables.length) {
    const next = tables.find(({ name, references }) => !isPlaced(name) && references.every(isPlaced));
    if (next === undefined) throw new Error('The foreign keys of the tables go round in a circle.');
    placed.push(next);
  }
  return placed;
}

import { CompiledQuery } from 'kysely';
import type { Queries } from './database.ts';
import type { Value } from './postgres-connection.ts';

/** Runs PostgreSQL's own text in a transaction, beside the queries of Kysely. */
export async function runStatement<Row>(tx: Queries, text: string, values: readonly Value[]): Promise<Row[]> {
  const { rows } = await tx.executeQuery<Row>(CompiledQuery.raw(text, [...values]));
  return rows;
}

type Cell = string | number | null;

/** Rows as `unnest` takes them: an array for each column. */
export function columns<Row>(rows: readonly Row[], cells: ReadonlyArray<(row: Row) => Cell>): Cell[][] {
  return cells.map((cell) => rows.map(cell));
}

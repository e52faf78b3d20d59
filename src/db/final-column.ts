import { type Kysely, sql } from 'kysely';

/**
 * A constraint that a column keeps its value once it is one of `values`: whatever the code does, what has ended stays
 * ended.
 */
export async function makeFinal(
  db: Kysely<unknown>,
  { table, column, values }: { table: string; column: string; values: readonly string[] },
): Promise<void> {
  const list = sql.join(values.map((value) => sql.lit(value)));
  await sql`
    create trigger ${sql.id(`${table}_${column}_final`)} before update of ${sql.id(column)} on ${sql.table(table)}
    when old.${sql.id(column)} in (${list}) and new.${sql.id(column)} <> old.${sql.id(column)}
    begin select raise(abort, 'the value is final'); end`.execute(db);
}

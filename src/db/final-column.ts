import { type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely';

interface FinalColumn {
  table: string;
  column: string;
  values: readonly string[];
}

/**
 * A constraint that a column keeps its value once it is one of `values`: whatever the code does, what has ended stays
 * ended.
 */
export async function makeFinal(db: Kysely<unknown>, { table, column, values }: FinalColumn): Promise<void> {
  const list = sql.join(values.map((value) => sql.lit(value)));
  const name = sql.id(`${table}_${column}_final`);
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  if (isPostgres) await makeRefusal(db, name);
  const refusal = isPostgres
    ? sql`execute function ${name}()`
    : sql`begin select raise(abort, 'the value is final'); end`;
  await sql`
    create trigger ${name} before update of ${sql.id(column)} on ${sql.table(table)}
    ${isPostgres ? sql`for each row` : sql``}
    when (old.${sql.id(column)} in (${list}) and new.${sql.id(column)} <> old.${sql.id(column)})
    ${refusal}`.execute(db);
}

/** PostgreSQL's triggers run functions only. */
async function makeRefusal(db: Kysely<unknown>, name: RawBuilder<unknown>): Promise<void> {
  await sql`
    create function ${name}() returns trigger language plpgsql
    as $$ begin raise exception 'the value is final'; end $$`.execute(db);
}

import type { Compilable, CompiledQuery, QueryResult } from 'kysely';
import type { Queries } from './database.ts';

type Input = object;

/** Stands where a value will be: names it while the query is built, once. */
class Placeholder {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A query that is built and compiled once for each dialect and then only given its values: building one costs several
 * times what running it on an index costs, which counts where it runs for every delivery.
 */
export function prepared<Values extends Input, Row = unknown>(
  build: (
    db: Queries,
    value: <Name extends keyof Values & string>(name: Name) => Values[Name],
  ) => Compilable<Row>,
): (db: Queries, values: Values) => Promise<QueryResult<Row>> {
  const compiled = new Map<unknown, CompiledQuery<Row>>();
  const placeholder = <Name extends keyof Values & string>(name: Name) =>
    new Placeholder(name) as unknown as Values[Name];

  return (db, values) => {
    const dialect = db.getExecutor().adapter.constructor;
    const query = compiled.get(dialect) ?? build(db, placeholder).compile();
    compiled.set(dialect, query);
    const parameters = query.parameters.map((parameter) =>
      parameter instanceof Placeholder ? values[parameter.name as keyof Values] : parameter,
    );
    return db.executeQuery({ ...query, parameters });
  };
}

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  type CreateTableNode,
  type DataTypeNode,
  type QueryCompiler,
  SqliteDialect,
  SqliteQueryCompiler,
} from 'kysely';
import { DatabaseBusy, DatabaseDamaged, DatabaseUnavailable, UniqueViolation } from './database.ts';

export type PrepareStatement = (sql: string) => StatementSync;

/** Kysely's SQLite dialect over `node:sqlite`, with prepared statements kept and errors translated. */
export class NodeSqliteDialect extends SqliteDialect {
  constructor(prepare: PrepareStatement) {
    super({
      database: {
        prepare: (sql) => {
          const statement = prepare(sql);
          return {
            reader: statement.columns().length > 0,
            all: (parameters) => translated(() => statement.all(...(parameters as string[]))),
            run: (parameters) => translated(() => statement.run(...(parameters as string[]))),
            iterate: (parameters) =>
              statement.iterate(...(parameters as string[])) as IterableIterator<unknown>,
          };
        },
        close: () => {},
      },
    });
  }

  override createQueryCompiler(): QueryCompiler {
    return new StrictSqliteCompiler();
  }
}

/** Makes the portable DDL of `migrations/` SQLite’s: STRICT tables, and its names for the column types. */
class StrictSqliteCompiler extends SqliteQueryCompiler {
  protected override visitCreateTable(node: CreateTableNode): void {
    super.visitCreateTable(node);
    this.append(' strict');
  }

  protected override visitDataType(node: DataTypeNode): void {
    this.append(INTEGERS.has(node.dataType) ? 'integer' : 'text');
  }
}

const INTEGERS = new Set<string>(['integer', 'bigint', 'bigserial']);

const MOST_STATEMENTS = 500;

export function statementCache(connection: DatabaseSync): PrepareStatement {
  const statements = new Map<string, StatementSync>();
  return (sql) => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    if (statements.size >= MOST_STATEMENTS) statements.clear();
    const statement = translated(() => connection.prepare(sql));
    statements.set(sql, statement);
    return statement;
  };
}

/** Runs what calls SQLite, its error codes made the ones of `database.ts`. */
export function translated<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw translate(error);
  }
}

const PRIMARY_CODE = 0xff;
const CONSTRAINT_UNIQUE = 2067;
const CONSTRAINT_PRIMARYKEY = 1555;

const REFUSED = 'The disk refuses to be read or written. Look at the log of the system.';

/** By SQLite's primary codes; what they say has no paths in it, since readiness repeats it to everybody. */
const UNAVAILABLE: Readonly<Record<number, (cause: Error) => DatabaseUnavailable>> = {
  5: (cause) => new DatabaseBusy('Another program holds the database.', { cause }),
  6: (cause) => new DatabaseBusy('Another program holds the database.', { cause }),
  8: (cause) =>
    new DatabaseUnavailable('The database may not be written. Make its folder writable.', { cause }),
  10: (cause) => new DatabaseUnavailable(REFUSED, { cause }),
  11: damaged,
  13: (cause) => new DatabaseUnavailable('The disk is full. Make room.', { cause }),
  14: (cause) => new DatabaseUnavailable(REFUSED, { cause }),
  26: damaged,
};

function damaged(cause: Error): DatabaseDamaged {
  return new DatabaseDamaged('The database is damaged. Stop the service and restore a backup.', { cause });
}

function translate(error: unknown): unknown {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return error;
  const code = error.errcode;
  if (code === CONSTRAINT_UNIQUE || code === CONSTRAINT_PRIMARYKEY) {
    return new UniqueViolation(error.message, { cause: error });
  }
  return UNAVAILABLE[code & PRIMARY_CODE]?.(error) ?? error;
}

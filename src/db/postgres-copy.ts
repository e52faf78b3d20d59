import type pg from 'pg';
import {
  type Cell,
  type CopySource,
  type CopyTarget,
  columnList,
  countSql,
  keyOf,
  pageSql,
  type Row,
} from './copy-end.ts';
import type { CopyTable } from './copy-tables.ts';
import { migrate } from './migrate.ts';
import { PostgresConnection, toParameter } from './postgres-connection.ts';
import { translate } from './postgres-errors.ts';
import { lockMigrations, openClient } from './postgres-open.ts';

/** One snapshot of all tables, whatever instances write meanwhile. */
export function openPostgresSource(url: string): Promise<CopySource> {
  return opened(url, 'FROM', async (client) => {
    await run(client, 'begin isolation level repeatable read read only');
    // It reads, and so it takes the snapshot.
    await run(client, UNLIMITED);
    return sourceOn(client);
  });
}

/**
 * Makes the tables, too, in the transaction of the copy. A service that starts meanwhile waits for its end, since it
 * wants to migrate; commands wait to write.
 */
export function openPostgresTarget(url: string, tables: readonly CopyTable[]): Promise<CopyTarget> {
  return opened(url, 'TO', async (client) => {
    await run(client, 'begin isolation level read committed');
    await run(client, UNLIMITED);
    const target = targetOn(client);
    await lockMigrations(connectionOf(client));
    await migrate(target.queries);
    await run(client, `lock table ${tables.map(({ name }) => `"${name}"`).join(', ')} in exclusive mode`);
    return target;
  });
}

/** For this transaction only. Not every version has all of them. */
const UNLIMITED = `select set_config(name, '0', true) from pg_settings where name in
  ('statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout', 'transaction_timeout')`;

async function opened<T>(
  url: string,
  argument: string,
  begin: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await openClient(url, argument);
  try {
    return await begin(client);
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
}

function sourceOn(client: pg.Client): CopySource {
  return {
    queries: connectionOf(client).queries(),
    count: async (table) => Number((await run(client, countSql(table)))[0]?.[0]),
    page: (table, last) =>
      last === null
        ? run(client, pageSql(table, null))
        : run(
            client,
            pageSql(
              table,
              table.key.map((_, index) => `$${index + 1}`),
            ),
            keyOf(table, last),
          ),
    async close() {
      await client.query('rollback').catch(() => {});
      await client.end().catch(() => {});
    },
  };
}

function targetOn(client: pg.Client): CopyTarget {
  return {
    ...sourceOn(client),
    toStorable: (cell) => toParameter(cell) as Cell,
    async insert(table, rows) {
      await run(
        client,
        insertSql(table),
        table.columns.map((_, column) => rows.map((row) => row[column] ?? null)),
      );
    },
    async settle(tables) {
      for (const table of tables) {
        if (hasNumberedRows(table)) await run(client, continueSql(table));
        // Until the server knows how many rows there are, it plans as if there were few.
        await run(client, `analyze "${table.name}"`);
      }
    },
    async commit() {
      await run(client, 'commit');
    },
  };
}

const connectionOf = (client: pg.Client): PostgresConnection =>
  new PostgresConnection(client, { names: null, giveBack: () => {} });

async function run(client: pg.Client, text: string, values: unknown[] = []): Promise<Row[]> {
  try {
    return (await client.query({ text, values, rowMode: 'array' })).rows as Row[];
  } catch (error) {
    throw translate(error);
  }
}

/** A page in one statement, an array for each column. */
function insertSql(table: CopyTable): string {
  const arrays = table.columns.map(
    ({ type }, index) => `$${index + 1}::${type === 'integer' ? 'bigint' : 'text'}[]`,
  );
  return `insert into "${table.name}" (${columnList(table)}) select * from unnest(${arrays.join(', ')})`;
}

const hasNumberedRows = ({ key, columns }: CopyTable): boolean =>
  key.length === 1 && columns.some(({ name, type }) => name === key[0] && type === 'integer');

/** Ids that the rows brought along are none that the sequence has given. */
const continueSql = ({ name, key }: CopyTable): string =>
  `select setval(pg_get_serial_sequence('"${name}"', '${key[0]}'), max("${key[0]}")) from "${name}"
    having max("${key[0]}") is not null`;

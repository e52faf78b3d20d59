import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { allMigrations } from '../../src/db/migrate.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { createPostgres } from '../databases.ts';
import { freePort } from '../free-port.ts';
import { onPostgres, unusable } from './postgres.ts';

onPostgres((opened) => {
  const open = (url: string) => openPostgres({ url, connections: 2, hasNamedStatements: true });
  /** The URL of the test's database, changed. */
  const changed = (changes: Partial<Pick<URL, 'hostname' | 'port' | 'pathname' | 'password'>>): string =>
    Object.assign(new URL(opened().url), changes).href;

  test('two that open an empty database at once both find all of its tables', async () => {
    const { env, query, remove } = await createPostgres({ isEmpty: true });
    try {
      const url = env['SIGNET_DATABASE_URL'] ?? '';
      const both = await Promise.all([open(url), open(url)]);
      for (const database of both) await database.ping();
      const applied = await query('select name from schema_migrations order by name');
      assert.deepEqual(
        applied.map(({ name }) => name),
        allMigrations,
      );
      for (const database of both) await database.close();
    } finally {
      await remove();
    }
  });

  test('texts compare byte by byte, whatever the locale: every text column says so', async () => {
    const rows = await opened().place.query(`select table_name, column_name from information_schema.columns
      where table_schema = 'public' and data_type = 'text' and collation_name is distinct from 'C'`);
    assert.deepEqual(rows, []);
  });

  test('a database of a newer version is refused with a sentence', async () => {
    const { env, query, remove } = await createPostgres();
    try {
      await query("insert into schema_migrations (name, timestamp) values ('0999_future', '2030-01-01')");
      await assert.rejects(open(env['SIGNET_DATABASE_URL'] ?? ''), unusable(/newer version of Signet/));
    } finally {
      await remove();
    }
  });

  test('a wrong password, a database that is missing and a server that is not there are told apart', async () => {
    const port = await freePort();
    for (const [url, sentence] of [
      [changed({ password: 'wrong' }), /refuses the user or the password\. Correct them/],
      [changed({ pathname: '/nowhere' }), /has no database of this name\. Create it/],
      [changed({ port: String(port) }), /No PostgreSQL server answers at 127\.0\.0\.1:\d+ \(ECONNREFUSED\)/],
      [changed({ hostname: 'nowhere.invalid' }), /No PostgreSQL server answers at nowhere\.invalid/],
    ] as const) {
      await assert.rejects(open(url), unusable(sentence));
    }
  });

  test('a server that accepts and says nothing is given up', async (t) => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    t.after(() => silent.close());
    await new Promise((resolve) => silent.once('listening', resolve));
    const address = silent.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    silent.on('connection', (socket) => t.after(() => socket.destroy()));
    await assert.rejects(open(changed({ port })), unusable(/No PostgreSQL server answers/));
  });
});

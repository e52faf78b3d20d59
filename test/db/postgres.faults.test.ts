import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseUnavailable, type Queries, UniqueViolation } from '../../src/db/database.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { onPostgres } from './postgres.ts';
import { ids } from './rows.ts';

const commits: number[] = [];

onPostgres(
  (opened) => {
    const write = (tx: Queries, name: string, value = '0') =>
      tx.insertInto('service_metadata').values({ name, value }).execute();
    const read = async (db: Queries, name: string) =>
      (await db.selectFrom('service_metadata').select('value').where('name', '=', name).executeTakeFirst())
        ?.value;
    const pidOf = async (tx: Queries): Promise<number> => {
      const { rows } = await tx.executeQuery<{ pid: number }>(PID);
      return rows[0]?.pid ?? assert.fail('no backend');
    };
    const PID = {
      query: { kind: 'RawNode' },
      sql: 'select pg_backend_pid() as pid',
      parameters: [],
    } as never;
    const terminate = (pid: number) =>
      opened().place.query(`select pg_terminate_backend(${pid})::text as done`);

    test('a connection that is cut before the commit costs the caller nothing: the work runs again', async () => {
      const name = ids.newSortable();
      let runs = 0;
      await opened().database.transaction(async (tx) => {
        runs += 1;
        await write(tx, name, String(runs));
        if (runs === 1) await terminate(await pidOf(tx));
        await read(tx, name);
      });
      assert.equal(runs, 2);
      assert.equal(await read(opened().database.reader, name), '2');
    });

    test('a table that changes under statements that have names costs the callers nothing', async () => {
      const readAll = () =>
        Promise.all(
          Array.from({ length: 4 }, () =>
            opened().database.reader.selectFrom('service_metadata').selectAll().execute(),
          ),
        );
      await readAll();
      await opened().place.query('alter table service_metadata add column note text');
      for (const rows of await readAll()) assert.ok('note' in (rows[0] ?? {}));
      await opened().place.query('alter table service_metadata drop column note');
      await opened().database.transaction((tx) => write(tx, ids.newSortable()));
      for (const rows of await readAll()) assert.ok(!('note' in (rows[0] ?? {})));
    });

    test('a connection that is cut every time ends as DatabaseUnavailable, and nothing is written', async () => {
      const name = ids.newSortable();
      let runs = 0;
      await assert.rejects(
        opened().database.transaction(async (tx) => {
          runs += 1;
          await write(tx, name);
          await terminate(await pidOf(tx));
          await read(tx, name);
        }),
        DatabaseUnavailable,
      );
      assert.equal(runs, 3);
      assert.equal(await read(opened().database.reader, name), undefined);
    });

    test('a connection that is cut as the commit begins is not tried again: nobody knows whether it stands', async () => {
      const name = ids.newSortable();
      let runs = 0;
      await assert.rejects(
        opened().database.transaction(async (tx) => {
          runs += 1;
          await write(tx, name);
          await terminate(await pidOf(tx));
        }),
        DatabaseUnavailable,
      );
      assert.equal(runs, 1);
    });

    test('connections that are cut while they wait in the pool are replaced without anybody noticing', async () => {
      const { database, place } = opened();
      await Promise.all(Array.from({ length: 10 }, () => database.ping()));
      await place.query(`select count(pg_terminate_backend(pid, 5000)) as gone from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`);
      await database.transaction((tx) => write(tx, ids.newSortable()));
    });

    test('two that read and then write one row both survive: the second reads again', async () => {
      const name = ids.newSortable();
      const { database } = opened();
      await database.transaction((tx) => write(tx, name));
      let waiting = 2;
      let letGo = () => {};
      const both = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      let runs = 0;
      const increment = () =>
        database.transaction(async (tx) => {
          runs += 1;
          const value = Number(await read(tx, name));
          waiting -= 1;
          if (waiting === 0) letGo();
          await both;
          await tx
            .updateTable('service_metadata')
            .set({ value: String(value + 1) })
            .where('name', '=', name)
            .execute();
        });
      await Promise.all([increment(), increment()]);
      assert.equal(await read(database.reader, name), '2');
      assert.equal(runs, 3);
    });

    test('a decision on what another transaction changes meanwhile is taken again (write skew)', async () => {
      const [one, two] = [ids.newSortable(), ids.newSortable()];
      const { database } = opened();
      await database.transaction(async (tx) => {
        await write(tx, one, 'on duty');
        await write(tx, two, 'on duty');
      });
      /** Leaves only where the other one stays. */
      const leave = (name: string, other: string) =>
        database.transaction(async (tx) => {
          if ((await read(tx, other)) !== 'on duty') return;
          await tx.updateTable('service_metadata').set({ value: 'off' }).where('name', '=', name).execute();
        });
      await Promise.all([leave(one, two), leave(two, one)]);
      const values = [await read(database.reader, one), await read(database.reader, two)];
      assert.deepEqual(values.toSorted(), ['off', 'on duty']);
    });

    test('an error of the work itself is not tried again, and a value that is taken is a UniqueViolation', async () => {
      let runs = 0;
      const name = ids.newSortable();
      await assert.rejects(
        opened().database.transaction(async (tx) => {
          runs += 1;
          await write(tx, name);
          await write(tx, name);
        }),
        UniqueViolation,
      );
      assert.equal(runs, 1);
    });

    test('who waits in vain for a connection is told so in bounded time, and the next one gets one', async () => {
      const small = await openPostgres({ url: opened().url, connections: 1, hasNamedStatements: true });
      try {
        await small.transaction(async () => {
          await assert.rejects(small.ping(), DatabaseUnavailable);
        });
        await small.ping();
      } finally {
        await small.close();
      }
    });

    test('every commit is told of, and a rollback is not', async () => {
      const { database } = opened();
      commits.length = 0;
      await database.transaction((tx) => write(tx, ids.newSortable()));
      await database.readCommitted((tx) => write(tx, ids.newSortable()));
      await assert.rejects(
        database.transaction(() => Promise.reject(new Error('no'))),
        /no/,
      );
      assert.deepEqual(commits, [1, 1]);
    });

    test('a text with NUL is stored with what stands for an unreadable character', async () => {
      const name = ids.newSortable();
      await opened().database.transaction((tx) => write(tx, name, 'a\0b'));
      assert.equal(await read(opened().database.reader, name), 'a\uFFFDb');
    });
  },
  { onCommit: ({ transactions }) => commits.push(transactions) },
);

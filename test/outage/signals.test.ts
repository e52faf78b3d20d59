import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { createPostgres, type DatabaseKind, databaseKinds, useDatabase } from '../databases.ts';
import { send, startService, type TestService } from '../harness.ts';
import { until } from '../until.ts';
import { assertRefusal } from './load.ts';
import { startWire } from './wire.ts';

const INFO = 30;

interface Scene {
  service: TestService;
  /** Requests at once while it is away: on SQLite each group of commits takes two seconds to give up. */
  crowd: number;
  takeAway(): void;
  bringBack(): void;
  remove(): Promise<void>;
}

const scenes: Record<DatabaseKind, () => Promise<Scene>> = {
  /** Another program holds the file and does not let go, so that no commit can begin. */
  async SQLite() {
    const service = await startService();
    const other = new DatabaseSync(join(service.dataDir, 'signet.db'));
    return {
      service,
      crowd: 1,
      takeAway: () => other.exec('begin immediate'),
      bringBack: () => other.exec('rollback'),
      async remove() {
        other.close();
        await service.stop();
      },
    };
  },
  async PostgreSQL() {
    const place = await createPostgres();
    const url = new URL(place.env['SIGNET_DATABASE_URL'] ?? '');
    const wire = await startWire({ host: '127.0.0.1', port: Number(url.port) });
    url.port = String(wire.port);
    const service = await startService({ env: { ...place.env, SIGNET_DATABASE_URL: url.href } });
    return {
      service,
      crowd: 20,
      takeAway() {
        wire.set('shut');
        wire.cut();
      },
      bringBack: () => wire.set('open'),
      async remove() {
        await service.stop();
        await wire.close();
        await place.remove();
      },
    };
  },
};

for (const kind of databaseKinds) {
  describe(kind, () => {
    test('an outage is one line in the log when it begins, one when it ends, and a gauge in between', async () => {
      useDatabase(kind);
      const { service, crowd, takeAway, bringBack, remove } = await scenes[kind]();
      const create = () => send(service.url, 'POST', '/api/agents', { admin: true, json: { name: 'agent' } });
      const isUp = async (): Promise<number> => {
        const { body } = await send(service.url, 'GET', '/metrics');
        return Number(/^signet_database_up (\d)$/m.exec(String(body))?.[1]);
      };
      const told = () =>
        service.logLines.map((line) => JSON.parse(line)).filter(({ level }) => level >= INFO);
      try {
        assert.equal((await create()).status, 201);
        assert.equal(await isUp(), 1);
        service.logLines.length = 0;
        takeAway();
        for (const answer of await Promise.all(Array.from({ length: crowd }, create))) assertRefusal(answer);
        assert.equal(await isUp(), 0);
        bringBack();
        await until('the end', async () => (await create()).status === 201);
        await until('the gauge', async () => (await isUp()) === 1);
        const [begun, ended, ...more] = told();
        assert.match(begun.msg, /^the database is away/);
        assert.ok(begun.cause.message.length > 0);
        assert.equal(ended.msg, 'the database is back');
        assert.ok(ended.seconds > 0);
        assert.deepEqual(more, []);
      } finally {
        await remove();
      }
    });
  });
}

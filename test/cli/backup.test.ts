import assert from 'node:assert/strict';
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { backUp } from '../../src/cli/backup.ts';
import { toConfig } from '../../src/config.ts';
import { adminEnv, type Child, childFolder, startChild } from '../child.ts';
import { send } from '../harness.ts';
import { assertFails, signet, signetJson } from './signet.ts';

interface Credentials {
  client_id: string;
  client_secret: string;
}

const folder = childFolder();
const restored = childFolder();
let child: Child;
before(async () => {
  child = await startChild({ folder, env: adminEnv });
});
after(() => {
  folder.remove();
  restored.remove();
});

const inFolder = (name: string) => join(folder.path, name);

async function createAgent(): Promise<Credentials> {
  const { status, body } = await send(child.url, 'POST', '/api/agents', {
    admin: true,
    json: { name: 'load' },
  });
  assert.equal(status, 201);
  return body;
}

const tokenStatus = async (service: Child, { client_id, client_secret }: Credentials): Promise<number> => {
  const json = { grant_type: 'client_credentials', client_id, client_secret };
  return (await send(service.url, 'POST', '/oauth/token', { json })).status;
};

/** Writes in several hands until it is stopped; `made` grows with each answer. */
function writeLoad(): { made: Credentials[]; stop(): Promise<void> } {
  const made: Credentials[] = [];
  let isStopped = false;
  const hand = async () => {
    while (!isStopped) {
      const agent = await createAgent();
      made.push(agent);
      assert.equal(await tokenStatus(child, agent), 200);
    }
  };
  const hands = Promise.all(Array.from({ length: 8 }, hand));
  return {
    made,
    async stop() {
      isStopped = true;
      await hands;
    },
  };
}

test('a copy made while the service writes has every agent that was answered before, and serves it', async () => {
  const load = writeLoad();
  while (load.made.length < 50) await createAgent();
  const before = [...load.made];
  const { bytes, includes_master_key } = await signetJson(folder, 'backup', 'copy.db');
  const during = load.made.length - before.length;
  await load.stop();
  assert.ok(during > 0, 'nothing was written during the copy');
  assert.equal(bytes, statSync(inFolder('copy.db')).size);
  assert.equal(includes_master_key, false);

  mkdirSync(join(restored.path, 'data'));
  copyFileSync(inFolder('copy.db'), join(restored.path, 'data', 'signet.db'));
  copyFileSync(inFolder('data/master.key'), join(restored.path, 'data', 'master.key'));
  const service = await startChild({ folder: restored });
  for (const agent of before) assert.equal(await tokenStatus(service, agent), 200);
  await service.kill('SIGTERM');
});

test('the copy is for its owner alone, and nothing is left beside it', async () => {
  const { code, stdout } = await signet(folder, 'backup', 'alone.db');
  assert.equal(code, 0);
  assert.match(stdout, /alone\.db: [\d,]+ bytes, checked\.\nThe master key is not in it/);
  assert.equal(statSync(inFolder('alone.db')).mode & 0o777, 0o600);
  assert.deepEqual(
    readdirSync(folder.path).filter((name) => /unfinished|-wal|-journal/.test(name)),
    [],
  );
});

test('a file that exists is kept, unless --force replaces it', async () => {
  writeFileSync(inFolder('taken.db'), 'precious');
  await assertFails(folder, ['backup', 'taken.db'], { code: 1, error: 'conflict', sentence: /--force/ });
  assert.equal(readFileSync(inFolder('taken.db'), 'utf8'), 'precious');
  await signetJson(folder, 'backup', 'taken.db', '--force');
  assert.equal(readFileSync(inFolder('taken.db')).subarray(0, 15).toString(), 'SQLite format 3');
});

test('--force overwrites neither the database, under whatever name, nor one that is in use, nor a folder', async () => {
  linkSync(inFolder('data/signet.db'), inFolder('same.db'));
  writeFileSync(inFolder('used.db-wal'), '');
  for (const [file, sentence] of [
    ['data/signet.db', /is the database itself/],
    ['same.db', /is the database itself/],
    ['used.db', /is a database in use/],
    ['data', /is a folder/],
  ] as const) {
    const { code, stderr } = await signet(folder, 'backup', file, '--force');
    assert.equal(code, 1);
    assert.match(stderr, sentence);
  }
  const service = await send(child.url, 'GET', '/api/agents', { admin: true });
  assert.equal(service.status, 200);
});

test('a folder that is not there is told', () =>
  assertFails(folder, ['backup', 'none/copy.db'], {
    code: 1,
    error: 'failed',
    sentence: /There is no folder/,
  }));

test('what is no database, or a damaged one, gives no copy', async () => {
  const broken = childFolder();
  try {
    mkdirSync(join(broken.path, 'data'));
    const file = join(broken.path, 'data', 'signet.db');
    writeFileSync(file, 'no database'.repeat(1000));
    const refused = { code: 1, error: 'database_unusable', sentence: /cannot be copied/ };
    await assertFails(broken, ['backup', 'copy.db'], refused);
    const bytes = readFileSync(inFolder('copy.db'));
    // Page 2 on is tables: zeros in the middle of it are none.
    bytes.fill(0, 4096 * 3, 4096 * 8);
    writeFileSync(file, bytes);
    const { code, stderr } = await signet(broken, 'backup', 'copy.db');
    assert.equal(code, 1);
    assert.match(stderr, /The copy is damaged|cannot be copied|malformed/);
    assert.deepEqual(readdirSync(broken.path), ['data']);
  } finally {
    broken.remove();
  }
});

test('a service that is stopped is copied too', async () => {
  await child.kill('SIGTERM');
  const { bytes } = await signetJson(folder, 'backup', 'stopped.db');
  assert.ok(bytes > 0);
});

test('PostgreSQL is refused with a word on pg_dump', async () => {
  const config = { ...toConfig({}), databasePath: 'postgres://signet@db.test/signet' };
  await assert.rejects(
    backUp({ loadConfig: () => config }, { file: inFolder('pg.db'), isForced: false }),
    /pg_dump/,
  );
});

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
import { type Child, childFolder, runChild, startChild } from '../child.ts';
import { useDatabase } from '../databases.ts';
import { send, startService, type TestService } from '../harness.ts';
import { assertFails, envBeside, envIn, signet, signetJson } from './signet.ts';

// The other one is refused, which takes no server.
useDatabase('SQLite');

interface Credentials {
  client_id: string;
  client_secret: string;
}

const folder = childFolder();
const restored = childFolder();
let service: TestService;
let env: Record<string, string>;
before(async () => {
  service = await startService();
  env = envBeside(service);
});
after(async () => {
  await service.stop();
  await folder.remove();
  await restored.remove();
});

const inFolder = (name: string) => join(folder.path, name);
const inData = (name: string) => join(service.dataDir, name);

async function createAgent(): Promise<Credentials> {
  const { status, body } = await send(service.url, 'POST', '/api/agents', {
    admin: true,
    json: { name: 'load' },
  });
  assert.equal(status, 201);
  return body;
}

const tokenStatus = async (
  { url }: Pick<Child, 'url'>,
  { client_id, client_secret }: Credentials,
): Promise<number> => {
  const json = { grant_type: 'client_credentials', client_id, client_secret };
  return (await send(url, 'POST', '/oauth/token', { json })).status;
};

/** Writes in several hands until it is stopped; `made` grows with each answer. */
function writeLoad(): { made: Credentials[]; stop(): Promise<void> } {
  const made: Credentials[] = [];
  let isStopped = false;
  const hand = async () => {
    while (!isStopped) {
      const agent = await createAgent();
      made.push(agent);
      assert.equal(await tokenStatus(service, agent), 200);
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
  const { code, stdout, stderr } = await runChild({
    folder,
    env,
    arguments: ['backup', 'copy.db', '--json'],
  });
  const during = load.made.length - before.length;
  await load.stop();
  assert.deepEqual([code, stderr], [0, '']);
  assert.ok(during > 0, 'nothing was written during the copy');
  const { bytes, includes_master_key } = JSON.parse(stdout);
  assert.equal(bytes, statSync(inFolder('copy.db')).size);
  assert.equal(includes_master_key, false);

  mkdirSync(join(restored.path, 'data'));
  copyFileSync(inFolder('copy.db'), join(restored.path, 'data', 'signet.db'));
  copyFileSync(inData('master.key'), join(restored.path, 'data', 'master.key'));
  const again = await startChild({ folder: restored });
  for (const agent of before) assert.equal(await tokenStatus(again, agent), 200);
  await again.kill('SIGTERM');
});

test('a service that is stopped is copied too', async () => {
  const { bytes } = await signetJson(await envIn(restored), 'backup', inFolder('stopped.db'));
  assert.ok(bytes > 0);
});

test('the copy is for its owner alone, and nothing is left beside it', async () => {
  const { code, stdout } = await signet(env, 'backup', inFolder('alone.db'));
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
  await assertFails(env, ['backup', inFolder('taken.db')], {
    code: 1,
    error: 'conflict',
    sentence: /--force/,
  });
  assert.equal(readFileSync(inFolder('taken.db'), 'utf8'), 'precious');
  await signetJson(env, 'backup', inFolder('taken.db'), '--force');
  assert.equal(readFileSync(inFolder('taken.db')).subarray(0, 15).toString(), 'SQLite format 3');
});

test('--force overwrites neither the database, under whatever name, nor one that is in use, nor a folder', async () => {
  linkSync(inData('signet.db'), inFolder('same.db'));
  writeFileSync(inFolder('used.db-wal'), '');
  for (const [file, sentence] of [
    [inData('signet.db'), /is the database itself/],
    [inFolder('same.db'), /is the database itself/],
    [inFolder('used.db'), /is a database in use/],
    [service.dataDir, /is a folder/],
  ] as const) {
    const { code, stderr } = await signet(env, 'backup', file, '--force');
    assert.equal(code, 1);
    assert.match(stderr, sentence);
  }
  assert.equal((await send(service.url, 'GET', '/api/agents', { admin: true })).status, 200);
});

test('a folder that is not there is told', () =>
  assertFails(env, ['backup', inFolder('none/copy.db')], {
    code: 1,
    error: 'failed',
    sentence: /There is no folder/,
  }));

test('what is no database, or a damaged one, gives no copy', async () => {
  const broken = childFolder();
  try {
    mkdirSync(join(broken.path, 'data'));
    const file = join(broken.path, 'data', 'signet.db');
    const given = ['backup', join(broken.path, 'copy.db')];
    writeFileSync(file, 'no database'.repeat(1000));
    const refused = { code: 1, error: 'database_unusable', sentence: /cannot be copied/ };
    await assertFails(await envIn(broken), given, refused);
    const bytes = readFileSync(inFolder('copy.db'));
    // Page 2 on is tables: zeros in the middle of it are none.
    bytes.fill(0, 4096 * 3, 4096 * 8);
    writeFileSync(file, bytes);
    const { code, stderr } = await signet(await envIn(broken), ...given);
    assert.equal(code, 1);
    assert.match(stderr, /The copy is damaged|cannot be copied|malformed/);
    assert.deepEqual(readdirSync(broken.path), ['data']);
  } finally {
    await broken.remove();
  }
});

test('PostgreSQL is refused with a word on pg_dump, without a look at the server', async () => {
  const url = { SIGNET_DATABASE_URL: 'postgres://signet:swordfish@127.0.0.1:1/signet' };
  const postgres = { ...url, SIGNET_MASTER_KEY: Buffer.alloc(32).toString('base64') };
  const { code, stdout, stderr } = await runChild({ folder, env: postgres, arguments: ['backup', 'pg.db'] });
  assert.deepEqual([code, stdout, stderr], [1, '', 'The database is PostgreSQL: back it up with pg_dump.\n']);
  assert.equal(readdirSync(folder.path).includes('pg.db'), false);
});

import assert from 'node:assert/strict';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { askForToken, assertKept } from '../changes.ts';
import { adminEnv, type Child, runChild, startChild } from '../child.ts';
import { freePort } from '../free-port.ts';
import { type Answer, send } from '../harness.ts';
import { assertNothingLost, assertRefusal, progress, refusals, startLoad } from '../outage/load.ts';
import { until } from '../until.ts';
import { eventIn, type Listener, listen } from '../webhooks/listener.ts';
import { type Disk, mountDisk, whyNoDisk } from './disk.ts';

const MEGABYTES = 12;
const FILLINGS = 2;

describe('a disk that is full', { skip: whyNoDisk() }, () => {
  let disk: Disk;
  let listener: Listener;
  let port: number;
  let child: Child;
  before(async () => {
    disk = mountDisk(MEGABYTES);
    listener = await listen();
    port = await freePort();
    child = await startChild({ folder: disk.folder, port, env: quiet });
    const json = { name: 'full', url: listener.url, events: ['agent.created', 'agent.deleted'] };
    assert.equal((await call('POST', '/api/webhooks', json)).status, 201);
  });
  after(async () => {
    await disk.remove();
    await listener.close();
  });

  const quiet = { ...adminEnv, SIGNET_LOG_LEVEL: 'error' };
  const call = (method: string, path: string, json?: unknown): Promise<Answer> =>
    send(child.url, method, path, { admin: true, ...(json !== undefined && { json }) });
  const get = (path: string): Promise<Answer> => send(child.url, 'GET', path);
  const isWritable = async () =>
    / (\d)$/m.exec(/^signet_database_up .*$/m.exec((await get('/metrics')).body)?.[0] ?? '')?.[1];

  async function livingToken(): Promise<string> {
    const { body } = await call('POST', '/api/agents', { name: 'living' });
    return (await askForToken(child.url, { clientId: body.client_id }, body.client_secret)).body.access_token;
  }

  test('under load: 503 meanwhile, living tokens are told, then service by itself, and nothing acknowledged is lost', async () => {
    listener.answer = { status: 503 };
    const token = await livingToken();
    const load = startLoad(child.url);
    for (let filling = 0; filling < FILLINGS; filling += 1) {
      await progress(load, 100);
      disk.fill();
      await refusals(load, 60);
      for (const path of ['/readyz', '/health']) {
        const answer = await until503(path);
        assert.equal(answer.body.error_description, 'Nothing can be written. The disk is full. Make room.');
      }
      assert.equal(await isWritable(), '0');
      assert.equal((await get('/livez')).status, 200);
      const { body } = await send(child.url, 'POST', '/oauth/introspect', { form: { token } });
      assert.equal(body.active, true);
      disk.makeRoom();
      await progress(load);
      await until('readiness', async () => (await get('/readyz')).status === 200);
      assert.equal(await isWritable(), '1');
    }
    await load.stop();
    listener.answer = { status: 204 };
    await assertNothingLost(child.url, load);
    const isHeard = () => new Set(listener.received.map((one) => String(eventIn(one).data['agent_id'])));
    await until('every event', () => load.known.every(({ id }) => isHeard().has(id)));

    await child.kill('SIGKILL');
    child = await startChild({ folder: disk.folder, port, env: quiet });
    await Promise.all(load.known.map((agent) => assertKept(child.url, agent)));
    assert.deepEqual(
      await disk.query('pragma integrity_check'),
      [{ integrity_check: 'ok' }].map((row) => Object.assign(Object.create(null), row)),
    );
    assert.equal((await child.kill('SIGTERM')).code, 0);
    const log = child.output().stdout + child.output().stderr;
    assert.doesNotMatch(log, /uncaught|unhandled/i);
  });

  async function until503(path: string): Promise<Answer> {
    let answer = await get(path);
    // Between two that are refused a small one may have found room.
    await until(`${path} to tell`, async () => {
      answer = await get(path);
      return answer.status === 503;
    });
    assertRefusal(answer);
    return answer;
  }

  test('a first start on it ends with a sentence and leaves no half of a key; the next, with room, makes all of it', async () => {
    for (const name of ['signet.db', 'master.key']) rmSync(join(disk.dataDir, name), { force: true });
    disk.fill();
    const { code, stderr } = await runChild({ folder: disk.folder, port, env: quiet });
    assert.equal(code, 1);
    assert.match(stderr, /^The .+ disk is not full\.\n$|^The database is busy, away or full\..*\n$/);
    assert.equal(statSync(join(disk.dataDir, 'master.key'), { throwIfNoEntry: false }), undefined);
    disk.makeRoom();
    child = await startChild({ folder: disk.folder, port, env: quiet });
    assert.equal((await get('/readyz')).status, 200);
    assert.equal((await child.kill('SIGTERM')).code, 0);
  });
});

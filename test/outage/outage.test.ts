import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { adminEnv, type Child, childFolder, startChild } from '../child.ts';
import { databaseKinds } from '../databases.ts';
import { type Answer, send } from '../harness.ts';
import { until } from '../until.ts';
import { type Listener, listen } from '../webhooks/listener.ts';
import {
  assertNothingLost,
  assertRefusal,
  LONGEST_MILLISECONDS,
  progress,
  refusals,
  startLoad,
} from './load.ts';
import { type Server, startServer } from './server.ts';
import { startWire, type Wire } from './wire.ts';

/** More than could each wait its turn for a connection that never comes. */
const CROWD = 300;
const CUTS = 6;
const MASTER_KEY = Buffer.alloc(32, 'outage').toString('base64');

/** One service, which is never restarted, and a server behind a wire that the tests control. */
describe('PostgreSQL', { skip: !databaseKinds.includes('PostgreSQL') }, () => {
  let server: Server;
  let wire: Wire;
  let listener: Listener;
  let child: Child;
  const folder = childFolder(async () => ({
    env: { SIGNET_DATABASE_URL: throughWire(), SIGNET_MASTER_KEY: MASTER_KEY },
    query: () => assert.fail('nobody asks past the service'),
    remove: async () => {},
  }));

  before(async () => {
    [server, listener] = await Promise.all([startServer(), listen()]);
    wire = await startWire({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
    child = await startChild({ folder, env: { ...adminEnv, SIGNET_LOG_LEVEL: 'fatal' } });
    const json = { name: 'outage', url: listener.url, events: ['agent.deleted'] };
    assert.equal((await call('POST', '/api/webhooks', json)).status, 201);
  });
  after(async () => {
    await folder.remove();
    await listener.close();
    await wire.close();
    await server.remove();
  });

  function throughWire(): string {
    const url = new URL(server.url);
    url.port = String(wire.port);
    return url.href;
  }
  const call = (method: string, path: string, json?: unknown): Promise<Answer> =>
    send(child.url, method, path, { admin: true, ...(json !== undefined && { json }) });
  const readiness = (): Promise<Answer[]> =>
    Promise.all(['/readyz', '/health'].map((path) => send(child.url, 'GET', path)));

  async function assertAway(): Promise<void> {
    for (const answer of await readiness()) assertRefusal(answer);
    assert.equal((await send(child.url, 'GET', '/livez')).status, 200);
  }

  /** By itself: the requests, what says that they are served, and what runs beside them. */
  async function assertBack(): Promise<void> {
    await until('readiness', async () => (await readiness()).every(({ status }) => status === 200));
    const heard = listener.received.length;
    const { agent } = (await call('POST', '/api/agents', { name: 'afterwards' })).body;
    assert.equal((await call('DELETE', `/api/agents/${agent.id}`)).status, 204);
    await until('the event', () => listener.received.length > heard);
  }

  test('the server stops and starts under load: 503 meanwhile, then service again, and nothing acknowledged is lost', async () => {
    const load = startLoad(child.url);
    await progress(load);
    await server.stop();
    await refusals(load);
    await assertAway();
    await server.start();
    await progress(load);
    await load.stop();
    await assertBack();
    await assertNothingLost(child.url, load);
  });

  test('connections that the server ends under load cost at most a 503, and nothing that was acknowledged', async () => {
    const operator = new pg.Client(server.url);
    await operator.connect();
    const load = startLoad(child.url);
    for (let cut = 0; cut < CUTS; cut++) {
      await progress(load, 10);
      const { rowCount } = await operator.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'signet'",
      );
      assert.ok(rowCount !== null && rowCount > 0);
    }
    await progress(load);
    await load.stop();
    await operator.end();
    await assertBack();
    await assertNothingLost(child.url, load);
  });

  test('a wire that is slow and breaks again and again under load loses nothing either', async () => {
    wire.set({ delayMilliseconds: 10 });
    const load = startLoad(child.url);
    for (let cut = 0; cut < CUTS; cut++) {
      await progress(load, 10);
      wire.cut();
    }
    await progress(load, 10);
    wire.set('open');
    await load.stop();
    await assertBack();
    await assertNothingLost(child.url, load);
  });

  test('a server that falls silent keeps nobody waiting: one wait with an end, then refusals at once', async () => {
    const load = startLoad(child.url);
    await progress(load);
    wire.set('stalled');
    const began = performance.now();
    const crowd = Array.from({ length: CROWD }, () =>
      send(child.url, 'POST', '/oauth/token', {
        json: { grant_type: 'client_credentials', client_id: 'cid_nobody', client_secret: 'wrong' },
      }),
    );
    await refusals(load);
    for (const answer of await Promise.all(crowd)) assertRefusal(answer);
    assert.ok(performance.now() - began < LONGEST_MILLISECONDS, 'each waited for those before it');
    await assertAway();
    wire.set('open');
    await progress(load);
    await load.stop();
    await assertBack();
    await assertNothingLost(child.url, load);
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { adminEnv, type Child, childFolder, runChild, startChild } from '../child.ts';
import { databaseKinds, useDatabase } from '../databases.ts';
import { freePort } from '../free-port.ts';
import { send } from '../harness.ts';
import { until } from '../until.ts';
import { type Caller, createCaller, keepAsking } from './caller.ts';
import { childrenOf, isAlive } from './family.ts';

const skip = databaseKinds.includes('PostgreSQL') ? false : 'needs the PostgreSQL server of npm test';

const several = { SIGNET_PROCESSES: '2' };
const pidOf = (child: Child) => child.process.pid as number;
const workersOf = (child: Child) => childrenOf(pidOf(child));

/** Two processes start and two take leave meanwhile, which may take longer than other things are waited for. */
async function logged(child: Child, text: string): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  while (!child.output().stderr.includes(text)) {
    await once(child.process.stderr as Readable, 'data', { signal });
  }
}

async function metric(child: Child, line: string): Promise<number> {
  const { body } = await send(child.url, 'GET', '/metrics');
  const found = String(body)
    .split('\n')
    .find((each) => each.startsWith(`${line} `));
  return Number(found?.slice(line.length) ?? 0);
}

before(() => useDatabase('PostgreSQL'));

// Most of the time they wait for processes, so they wait together.
describe('several processes', { skip, concurrency: true }, () => {
  describe('on one port', { concurrency: false }, () => {
    const folder = childFolder();
    after(() => folder.remove());

    let child: Child;
    let admin: { email: string; password: string };
    let client: { client_id: string; client_secret: string };
    before(async () => {
      child = await startChild({ folder, env: several });
      const password = /Password +(\S+)/.exec(child.output().stdout)?.[1] ?? '';
      admin = { email: 'admin@localhost', password };
    });

    const tokens = async (caller: Caller): Promise<{ access_token: string; refresh_token: string }> =>
      JSON.parse((await caller.post('/oauth/token', { grant_type: 'client_credentials', ...client })).body);

    test('it starts as one does: one greeting, with the password of the one first administrator', async () => {
      assert.equal(child.output().stdout.split('listens on').length, 2);
      assert.equal(workersOf(child).length, 2);
      const json = { name: 'an agent' };
      const { status, body } = await send(child.url, 'POST', '/api/agents', { admin, json });
      assert.equal(status, 201);
      client = { client_id: body.client_id, client_secret: body.client_secret };
      const keys = await send(child.url, 'GET', '/.well-known/jwks.json');
      assert.equal(keys.body.keys.length, 2);
    });

    test('the metrics of any process are those of all', async () => {
      const callers = Array.from({ length: 6 }, () => createCaller(child.url));
      await Promise.all(callers.map(tokens));
      for (let turn = 0; turn < 3; turn++) {
        const issued = 'signet_tokens_issued_total{grant_type="client_credentials"}';
        assert.equal(await metric(child, issued), 6);
        assert.equal(await metric(child, 'signet_processes'), 2);
      }
      for (const caller of callers) caller.close();
    });

    test('of refreshes with one token in several processes one wins', async () => {
      const callers = Array.from({ length: 6 }, () => createCaller(child.url));
      const { refresh_token } = await tokens(callers[0] as Caller);
      const answers = await Promise.all(
        callers.map((caller) =>
          caller.post('/oauth/refresh', { grant_type: 'refresh_token', refresh_token }),
        ),
      );
      for (const caller of callers) caller.close();
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 400, 400, 400, 400, 400]);
    });

    test('all processes serve; one that is killed is replaced, and the others go on meanwhile', async () => {
      const before = workersOf(child);
      const callers = Array.from({ length: 6 }, () => createCaller(child.url));
      const { access_token: token } = await tokens(callers[0] as Caller);
      const introspect = (caller: Caller) => caller.post('/oauth/introspect', { token });
      await Promise.all(callers.map(introspect));
      const counted = await metric(child, 'signet_introspections_total{active="true"}');
      process.kill(before[0] as number, 'SIGKILL');
      // Connections to the other one stay, and nobody else is there yet.
      await until('the end of the process', () => !isAlive(before[0] as number));
      const answers = await Promise.allSettled(callers.map(introspect));
      for (const caller of callers) caller.close();
      const served = answers.filter(({ status }) => status === 'fulfilled').length;
      assert.ok(served >= 1, 'the other process serves its connections');
      await until('another process', async () => (await metric(child, 'signet_processes')) === 2);
      const now = workersOf(child);
      assert.deepEqual([now.length, now.includes(before[0] as number)], [2, false]);
      assert.ok(now.includes(before[1] as number));
      assert.match(child.output().stderr, /"signal":"SIGKILL".*another takes its place/);
      const later = await metric(child, 'signet_introspections_total{active="true"}');
      assert.ok(later >= counted, `counted ${counted}, and ${later} later`);
    });

    test('SIGHUP replaces all processes, and no request fails', async () => {
      const before = workersOf(child);
      const kept = Array.from({ length: 3 }, () => createCaller(child.url));
      const fresh = createCaller(child.url, { keepAlive: false });
      const { access_token: token } = await tokens(fresh);
      const asking = keepAsking([...kept, fresh], '/oauth/introspect', { token });
      process.kill(pidOf(child), 'SIGHUP');
      await logged(child, 'all worker processes are replaced').catch(() => {});
      const { failures, count } = await asking.stop();
      for (const caller of kept) caller.close();
      assert.deepEqual(failures, []);
      assert.ok(count > 20, `only ${count} requests`);
      const now = workersOf(child);
      assert.equal(now.length, 2);
      assert.deepEqual(
        now.filter((pid) => before.includes(pid)),
        [],
      );
    });

    test('SIGTERM stops all of them, and the exit code is 0', async () => {
      const workers = workersOf(child);
      const { code, signal } = await child.kill('SIGTERM');
      assert.deepEqual([code, signal], [0, null]);
      assert.deepEqual(workers.filter(isAlive), []);
    });
  });

  describe('that end badly', { concurrency: true }, () => {
    const folder = childFolder();
    after(() => folder.remove());

    test('where the first one is killed, the others stop by themselves', async () => {
      const child = await startChild({ folder, env: { ...adminEnv, ...several } });
      const workers = workersOf(child);
      await child.kill('SIGKILL');
      await until('the end of the workers', () => workers.every((pid) => !isAlive(pid)));
    });

    test('one that hangs is killed, so that the stop ends in time', async () => {
      const child = await startChild({ folder, env: { ...adminEnv, ...several } });
      const workers = workersOf(child);
      process.kill(workers[0] as number, 'SIGSTOP');
      const { code, signal } = await child.kill('SIGTERM');
      assert.deepEqual([code, signal], [1, null]);
      await until('the end of the workers', () => !workers.some(isAlive));
    });

    test('a start that cannot succeed ends with one sentence and the exit code 1', async () => {
      const url = `postgres://signet:x@127.0.0.1:${await freePort()}/signet?sslmode=disable`;
      const { code, stderr } = await runChild({ folder, env: { ...several, SIGNET_DATABASE_URL: url } });
      assert.equal(code, 1);
      assert.match(stderr, /^No PostgreSQL server answers at .*\n$/);
    });
  });
});

import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { LEASE_MILLISECONDS } from '../../src/webhooks/deliver.worker.ts';
import { assertEveryKind, assertKept, type Known } from '../changes.ts';
import { runChild } from '../child.ts';
import { databaseKinds } from '../databases.ts';
import type { TestAgent } from '../harness.ts';
import { until } from '../until.ts';
import { type Receiver, startReceiver } from '../webhooks/faults/receiver.ts';
import { startLoad } from './load.ts';
import { INSTANCES, type Instance, type Scene, startScene } from './scene.ts';

const RACES = 15;
const CALLERS = 6;
/** So many requests of one webhook each instance has under way. */
const UNDER_WAY = 4;

describe('PostgreSQL', { skip: !databaseKinds.includes('PostgreSQL') }, () => {
  let scene: Scene;
  let receiver: Receiver;
  let answerHook = (response: ServerResponse): unknown => response.writeHead(200).end();
  before(async () => {
    receiver = await startReceiver((response) => answerHook(response));
    scene = await startScene();
  });
  after(async () => {
    await scene.remove();
    await receiver.close();
  });

  const instance = (index: number): Instance => scene.instances[index % scene.instances.length] as Instance;
  const query = async (sql: string) => (await scene.folder.database()).query(sql);
  const count = async (from: string): Promise<unknown> =>
    (await query(`select count(*) as n from ${from}`))[0]?.['n'];
  const createHook = async (at: Instance, event: string): Promise<string> => {
    const json = { name: 'instances', url: receiver.url, events: [event] };
    return (await at.change('POST', '/api/webhooks', json)).webhook.id;
  };
  const heardOf = (type: string, member: string): string[] =>
    receiver.seen
      .map(({ body }) => JSON.parse(body.toString()))
      .filter((event) => event.type === type)
      .map(({ data }) => data[member]);

  test('instances that start at once on an empty database make one set of tables, one administrator, one set of keys', async () => {
    assert.equal(await count('schema_migrations'), globSync('migrations/*.ts').length);
    assert.equal(await count('administrators'), 1);
    assert.equal(await count("signing_keys where status = 'active'"), 1);
    assert.equal(await count("signing_keys where status = 'next'"), 1);
    const sets = await Promise.all(scene.instances.map(publishedKids));
    for (const set of sets) assert.deepEqual(set, sets[0]);
  });

  test('a refresh token that is used at every instance at once works once, and its family ends everywhere', async () => {
    const agent = await instance(0).createAgent();
    const race = async (index: number): Promise<void> => {
      const first = await instance(index).tokens(agent);
      const answers = await Promise.all(scene.instances.map((at) => at.refresh(first.refreshToken)));
      const won = answers.filter(({ status }) => status === 200);
      assert.equal(won.length, 1, JSON.stringify(answers.map(({ body }) => body)));
      const lost = answers.filter(({ body }) => body.error === 'invalid_grant');
      assert.equal(lost.length, scene.instances.length - 1);
      await assertFamilyEnded([first.accessToken, won[0]?.body.access_token], won[0]?.body.refresh_token);
    };
    await Promise.all(Array.from({ length: RACES }, (_, index) => race(index)));
  });

  async function assertFamilyEnded(accessTokens: string[], refreshToken: string): Promise<void> {
    for (const at of scene.instances) {
      for (const token of accessTokens) {
        assert.deepEqual(await at.introspect(token), { active: false, reason: 'revoked' });
      }
      assert.equal((await at.refresh(refreshToken)).body.error, 'invalid_grant');
    }
  }

  test('what one instance has acknowledged, every other obeys on its next request', async () => {
    await Promise.all(scene.pairs.map(([here, there]) => assertObeyed(here, there)));
  });

  async function assertObeyed(here: Instance, there: Instance): Promise<void> {
    const agent = await here.createAgent();
    const path = `/api/agents/${agent.id}`;
    const [revoked, other] = [await here.tokens(agent), await there.tokens(agent)];
    for (const { accessToken } of [revoked, other]) await assertActive(there, accessToken);

    assert.equal(
      (await here.call('POST', '/oauth/revoke', { json: { token: revoked.accessToken } })).status,
      200,
    );
    assert.deepEqual(await there.introspect(revoked.accessToken), { active: false, reason: 'revoked' });
    await here.change('POST', path, { action: 'deactivate' });
    assert.deepEqual(await there.introspect(other.accessToken), { active: false, reason: 'agent_inactive' });
    assert.equal((await there.askForToken(agent)).body.error, 'invalid_client');
    await here.change('POST', path, { action: 'reactivate' });
    await assertActive(there, (await there.tokens(agent)).accessToken);
    const { client_secret } = await here.change('POST', path, { action: 'rotate' });
    assert.equal((await there.askForToken(agent)).body.error, 'invalid_client');
    const rotated: TestAgent = { ...agent, clientSecret: client_secret };
    const last = await there.tokens(rotated);
    await here.change('DELETE', path);
    assert.equal((await there.introspect(last.accessToken)).active, false);
    assert.equal((await there.askForToken(rotated)).body.error, 'invalid_client');
  }

  async function assertActive(at: Instance, token: string): Promise<void> {
    const { active, reason } = await at.introspect(token);
    assert.deepEqual([active, reason], [true, undefined]);
  }

  async function publishedKids(at: Instance): Promise<string[]> {
    const { body } = await at.call('GET', '/.well-known/jwks.json');
    return body.keys.map(({ kid }: { kid: string }) => kid).sort();
  }

  test('keys that are rotated during load, over the API and the command line, never make a token fail to verify', async () => {
    const agent = await instance(0).createAgent();
    const kids = new Set<unknown>();
    const byCommand = async () => {
      const { code } = await runChild({ folder: scene.folder, arguments: ['keys', 'rotate'] });
      assert.equal(code, 0);
    };
    const byApi = scene.instances.map((at) => () => at.change('POST', '/api/keys/rotate'));
    const rotations = [...byApi, byCommand, ...byApi];
    let isRotating = true;
    const caller = async (index: number): Promise<void> => {
      for (let turn = index; isRotating; turn++) {
        const { accessToken } = await instance(turn).tokens(agent);
        for (const at of scene.instances) kids.add(await verify(at, accessToken));
      }
    };
    const callers = Promise.all(Array.from({ length: CALLERS }, (_, index) => caller(index)));
    try {
      await until('tokens of the first key', () => kids.size === 1);
      for (const rotate of rotations) {
        const before = kids.size;
        await rotate();
        await until('tokens of the next key', () => kids.size > before);
      }
    } finally {
      isRotating = false;
      await callers;
    }
    assert.equal(kids.size, rotations.length + 1);
    assert.equal(await count('signing_keys'), rotations.length + 2);
  });

  /** By the instance itself, and by a stranger with its published keys; answers the key. */
  async function verify(at: Instance, token: string): Promise<unknown> {
    await assertActive(at, token);
    const { body } = await at.call('GET', '/.well-known/jwks.json');
    const { protectedHeader } = await jwtVerify(token, createLocalJWKSet(body), {
      issuer: scene.balancer.url,
      typ: 'at+jwt',
    });
    return protectedHeader.kid;
  }

  test('a webhook that is created at one instance hears of the very next event at every other', async () => {
    for (const [here, there] of scene.pairs) {
      const agent = await there.createAgent();
      const id = await createHook(here, 'token.issued');
      await there.tokens(agent);
      await until('the issued token', () => heardOf('token.issued', 'agent_id').includes(agent.id));
      await here.change('PUT', `/api/webhooks/${id}`, { is_active: false });
      await there.tokens(agent);
      await here.change('DELETE', `/api/webhooks/${id}`);
      assert.equal(await count(`deliveries where webhook_id = '${id}'`), 1);
    }
    const id = await createHook(instance(0), 'token.validation_failed');
    await instance(1).introspect('nothing of ours');
    await until('the failed validation', () => heardOf('token.validation_failed', 'reason').length === 1);
    await instance(2).change('DELETE', `/api/webhooks/${id}`);
  });

  test('kill -9 of an instance under load: nothing acknowledged is lost, and when its leases end another sends what it had claimed', async () => {
    const held: ServerResponse[] = [];
    answerHook = (response) => held.push(response);
    const hook = await createHook(instance(0), 'agent.created');
    const known: Known[] = [];
    const load = startLoad(() => scene.balancer.url, known);
    try {
      const isEverywhere = () => held.length === UNDER_WAY * INSTANCES && known.length > CALLERS;
      await until('deliveries under way at every instance', isEverywhere);
      const [killed, ...left] = scene.instances;
      assert.equal((await killed?.child.kill('SIGKILL'))?.signal, 'SIGKILL');
      answerHook = (response) => response.writeHead(200).end();
      for (const response of held) answerHook(response);
      scene.balancer.setTargets(left.map(({ child }) => child.url));
      const before = known.length;
      await until('service by the others', () => known.length > before + CALLERS);
    } finally {
      await load.stop();
    }
    assertEveryKind(known);
    await Promise.all(known.map((agent) => assertKept(scene.balancer.url, agent)));
    await assertDelivered(instance(1), hook, known);
  });

  async function assertDelivered(at: Instance, hook: string, known: readonly Known[]): Promise<void> {
    const waiting = `deliveries where webhook_id = '${hook}' and status <> 'delivered'`;
    await until('what the others had claimed', async () => Number(await count(waiting)) <= UNDER_WAY);
    const past = `next_attempt_at = next_attempt_at - ${LEASE_MILLISECONDS}`;
    await query(`update ${waiting.replace(' where', ` set ${past} where`)}`);
    // Whoever is woken by it looks for all that is due.
    await at.createAgent();
    await until('every delivery', async () => (await count(waiting)) === 0);
    const heard = heardOf('agent.created', 'agent_id');
    assert.ok(known.every(({ id }) => heard.includes(id)));
    const { deliveries } = await at.change('GET', `/api/webhooks/${hook}/deliveries`);
    const requests = Map.groupBy(receiver.seen, ({ headers }) => headers['x-webhook-delivery']);
    const taken = deliveries.filter(({ id, attempts }: { id: string; attempts: number }) => {
      assert.equal(requests.get(id)?.length, attempts);
      return attempts > 1;
    });
    assert.equal(taken.length, UNDER_WAY);
    assert.ok(taken.every(({ attempts }: { attempts: number }) => attempts === 2));
  }
});

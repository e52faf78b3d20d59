import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { childFolder, runChild } from '../child.ts';
import {
  createPostgres,
  currentDatabase,
  type DatabaseKind,
  databaseKinds,
  sqliteQuery,
  type TestDatabase,
} from '../databases.ts';
import { type Answer, startService, type TestAgent, type TestService, type TokenSet } from '../harness.ts';
import { act, change, createOrganization, refresh, requestToken, revoke } from '../oauth/requests.ts';
import { createHook, type Hook } from '../webhooks/hook.ts';
import { type Listener, listen } from '../webhooks/listener.ts';

interface Place {
  url: string;
  query: TestDatabase['query'];
  remove(): Promise<void>;
}

interface Table {
  table: string;
  rows: number;
  sha256: string;
}

const folder = childFolder();
let service: TestService;
let listener: Listener;
let masterKey: string;
/** The other kind of database, then the one that the service began on. */
let places: [Place, Place];
before(async () => {
  listener = await listen();
  service = await startService();
  const file = join(service.dataDir, 'master.key');
  masterKey = existsSync(file)
    ? readFileSync(file, 'utf8').trim()
    : (service.databaseEnv['SIGNET_MASTER_KEY'] ?? '');
  const other = databaseKinds.find((kind) => kind !== currentDatabase()) ?? currentDatabase();
  places = [await newPlace('first', other), await newPlace('second', currentDatabase())];
});
after(async () => {
  await service.stop();
  for (const place of places) await place.remove();
  await listener.close();
  await folder.remove();
});

async function newPlace(name: string, kind: DatabaseKind): Promise<Place> {
  if (kind === 'PostgreSQL') {
    const { env, query, remove } = await createPostgres({ isEmpty: true });
    return { url: env['SIGNET_DATABASE_URL'] ?? '', query, remove };
  }
  const path = join(folder.path, name, 'signet.db');
  return { url: `sqlite:${path}`, query: sqliteQuery(path), remove: async () => {} };
}

async function copy(from: string, to: string, ...options: string[]): Promise<string> {
  const env = { SIGNET_MASTER_KEY: masterKey };
  const { code, stdout, stderr } = await runChild({ folder, env, arguments: ['copy', from, to, ...options] });
  assert.deepEqual([code, stderr], [0, ''], stdout);
  for (const secret of ['for-tests-only', masterKey]) assert.ok(!stdout.includes(secret));
  return stdout;
}

/** What every copy must know, each family of tokens for one of them to use up. */
interface Household {
  living: TokenSet[];
  beforeRotation: string;
  revoked: string;
  endedFamily: TokenSet;
  refreshed: { used: string; successors: string[] };
  rotated: { agent: TestAgent; newSecret: string };
  inactive: { agent: TestAgent; token: string };
  hook: Hook;
  eventId: string;
  seen: unknown[];
  jwks: unknown;
}

const get = async (path: string): Promise<Answer['body']> =>
  (await service.call('GET', path, { admin: true })).body;

const LISTS = ['/api/agents', '/api/keys', '/api/administrators', '/api/administrators/me/keys'];

/** All that an administrator can read. */
async function readAll(): Promise<unknown[]> {
  const organizations = await get('/api/organizations');
  const { webhooks } = await get('/api/webhooks');
  const histories: unknown[] = [];
  for (const { id } of webhooks) {
    const path = `/api/webhooks/${id}/deliveries`;
    for (const delivery of (await get(path)).deliveries) histories.push(await get(`${path}/${delivery.id}`));
  }
  const teams = await get(`/api/organizations/${organizations.organizations[0].id}/teams`);
  return [organizations, teams, webhooks, histories, ...(await Promise.all(LISTS.map(get)))];
}

async function deliveriesInEveryState(): Promise<{ hook: Hook; eventId: string }> {
  const of = (name: string, more: object) =>
    createHook(service, { name, url: listener.url, events: ['agent.created'], ...more });
  const delivered = await of('delivered', {});
  await service.createAgent({ name: 'heard' });
  await delivered.newest('delivered');
  await delivered.call('PUT', '', { is_active: false });
  listener.answer = { status: 500, body: 'Ökonomie 💾 "quoted" \\ \u0001' };
  const [dead, hook] = [await of('dead', { max_retries: 1 }), await of('retrying', { max_retries: 5 })];
  await service.createAgent({ name: 'told in vain' });
  await dead.newest('dead');
  const { event_id: eventId } = await hook.newest('retrying');
  for (const each of [dead, hook]) await each.call('PUT', '', { is_active: false });
  // Of the one that is held, too, nothing has been sent yet.
  await service.query(`insert into deliveries (id, webhook_id, event_id, event_type, status, attempts, max_attempts,
    next_attempt_at, created_at) select 'delivery_01m7y6ymdhern8dwcwpexrye87', webhook_id, event_id, event_type,
    'pending', 0, max_attempts, next_attempt_at, created_at from deliveries where status = 'retrying'`);
  listener.answer = { status: 200 };
  listener.received.length = 0;
  return { hook, eventId };
}

async function settleIn(): Promise<Household> {
  const organizationId = await createOrganization(service, { jwt_expiry_secs: 7200 });
  await service.call('POST', `/api/organizations/${organizationId}/teams`, {
    admin: true,
    json: { name: 'Zahlungen — 支払い', description: 'a "team"\nof two lines' },
  });
  const agent = await service.createAgent({
    name: 'Robert\'); drop table "agents";--',
    organization_id: organizationId,
  });
  const apiKey = { admin: true, json: { name: 'script', expires_in: 86_400 } } as const;
  await service.call('POST', '/api/administrators/me/keys', apiKey);
  const beforeRotation = (await service.tokens(agent)).accessToken;
  await service.call('POST', '/api/keys/rotate', { admin: true });
  const family = await service.tokens(agent);
  const successor = (await refresh(service, family.refreshToken)).body.refresh_token;
  const endedFamily = await service.tokens(agent);
  await revoke(service, endedFamily.refreshToken);
  const { accessToken: revoked } = await service.tokens(agent);
  await revoke(service, revoked);
  const rotated = await service.createAgent({ name: 'rotated' });
  const { body } = await act(service, rotated, 'rotate', { grace_period_secs: 86_400 });
  const inactive = await service.createAgent({ name: 'inactive' });
  const { accessToken } = await service.tokens(inactive);
  await act(service, inactive, 'deactivate');
  return {
    living: [await service.tokens(agent)],
    beforeRotation,
    revoked,
    endedFamily,
    refreshed: { used: family.refreshToken, successors: [successor] },
    rotated: { agent: rotated, newSecret: body.client_secret },
    inactive: { agent: inactive, token: accessToken },
    ...(await deliveriesInEveryState()),
    seen: await readAll(),
    jwks: await get('/.well-known/jwks.json'),
  };
}

async function assertActive(isActive: boolean, ...tokens: (string | undefined)[]): Promise<void> {
  for (const token of tokens) {
    const answer = await service.introspect(token ?? '');
    assert.equal(answer.active, isActive, JSON.stringify(answer));
  }
}

/** Everything is as it was, and goes on from there. */
async function assertAtHome(house: Household): Promise<void> {
  assert.deepEqual(await readAll(), house.seen);
  assert.deepEqual(await get('/.well-known/jwks.json'), house.jwks);
  await assertActive(true, house.beforeRotation, ...house.living.flatMap((set) => Object.values(set)));
  await assertActive(false, house.revoked, house.endedFamily.accessToken, house.inactive.token);
  await assertSecrets(house);
  await assertRefreshWorksOnce(house);
  await assertWaitingArrives(house);
}

async function assertSecrets({ rotated, inactive }: Household): Promise<void> {
  for (const clientSecret of [rotated.agent.clientSecret, rotated.newSecret]) {
    assert.equal((await requestToken(service, { ...rotated.agent, clientSecret })).status, 200);
  }
  assert.equal((await requestToken(service, inactive.agent)).status, 401);
  // New rows stand beside the old ones: their ids go on where those ended.
  assert.equal((await change(service, rotated.agent, { name: 'renamed' })).status, 200);
  assert.equal((await act(service, rotated.agent, 'rotate')).status, 200);
}

async function assertRefreshWorksOnce({ living, refreshed }: Household): Promise<void> {
  const [set] = living;
  const renewed = await refresh(service, set?.refreshToken ?? '');
  assert.equal(renewed.status, 200);
  await assertActive(true, renewed.body.access_token, renewed.body.refresh_token);
  assert.equal((await refresh(service, set?.refreshToken ?? '')).status, 400);
  await assertActive(false, renewed.body.access_token, set?.accessToken);
  assert.equal((await refresh(service, refreshed.used)).status, 400);
  await assertActive(false, ...refreshed.successors);
}

async function assertWaitingArrives({ hook, eventId }: Household): Promise<void> {
  const before = listener.received.length;
  await hook.call('PUT', '', { is_active: true });
  service.clock.advance({ seconds: 10 });
  const received = (await listener.first(before + 2)).slice(before);
  for (const { headers } of received) assert.equal(headers['webhook-id'], eventId);
  assert.equal((await hook.newest('delivered')).status, 'delivered');
}

/** What one copy told as JSON, the next one of the same rows tells people; and both databases have those rows. */
async function assertEqualCopies(tables: readonly Table[], told: string): Promise<void> {
  assert.match(told, /Both sides were read and are the same:\n\nTABLE +ROWS +SHA-256\n/);
  assert.match(told, /The master key is not copied\./);
  for (const { table, rows, sha256 } of tables) {
    assert.ok(rows > 0, `${table} was to have rows`);
    assert.match(told, new RegExp(`\n${table} +${rows} +${sha256}\n`));
    for (const { query } of [service, places[1]]) {
      assert.equal((await query(`select count(*) as rows from ${table}`))[0]?.['rows'], rows, table);
    }
  }
}

test('a service goes on at each stop of a move from one kind of database to the other and back', async () => {
  const house = await settleIn();
  const [first, second] = places;
  const start = service.databaseEnv['SIGNET_DATABASE_URL'] ?? join(service.dataDir, 'signet.db');
  let [there, back] = ['', ''];
  await service.restart({
    env: { SIGNET_DATABASE_URL: first.url, SIGNET_MASTER_KEY: masterKey },
    async meanwhile() {
      there = await copy(start, first.url, '--json');
      back = await copy(first.url, second.url);
    },
  });
  await assertEqualCopies(JSON.parse(there).tables, back);
  await assertAtHome(house);
  await service.restart({ env: { SIGNET_DATABASE_URL: second.url } });
  await assertAtHome(house);
});

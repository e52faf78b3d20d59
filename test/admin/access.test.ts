import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Database } from '../../src/db/database.ts';
import { watchAccess } from '../../src/http/administrator-access.ts';
import { assertError } from '../assert-error.ts';
import { type Answer, type CallOptions, send, startService, type TestService } from '../harness.ts';
import { type Account, addAdministrator, addOrganization } from './accounts.ts';

const ROLES = ['viewer', 'operator', 'owner'] as const;

/**
 * What each administrator path needs, said here once more and by hand: the least role, and what somebody who is bound
 * to another organization gets, whatever the role: 404 as if nothing were there, 403, or what is their own.
 */
const EXPECTED: Record<string, readonly [(typeof ROLES)[number], 404 | 403 | 'own']> = {
  'GET /api/agents': ['viewer', 'own'],
  'POST /api/agents': ['operator', 'own'],
  'GET /api/agents/{id}': ['viewer', 404],
  'PUT /api/agents/{id}': ['operator', 404],
  'POST /api/agents/{id}': ['operator', 404],
  'DELETE /api/agents/{id}': ['operator', 404],
  'GET /api/organizations': ['viewer', 'own'],
  'POST /api/organizations': ['operator', 403],
  'GET /api/organizations/{id}': ['viewer', 404],
  'PUT /api/organizations/{id}': ['operator', 404],
  'DELETE /api/organizations/{id}': ['operator', 404],
  'GET /api/organizations/{org_id}/agents': ['viewer', 404],
  'POST /api/organizations/{org_id}/agents': ['operator', 404],
  'GET /api/organizations/{org_id}/teams': ['viewer', 404],
  'POST /api/organizations/{org_id}/teams': ['operator', 404],
  'GET /api/organizations/{org_id}/teams/{team_id}': ['viewer', 404],
  'PUT /api/organizations/{org_id}/teams/{team_id}': ['operator', 404],
  'DELETE /api/organizations/{org_id}/teams/{team_id}': ['operator', 404],
  'GET /api/webhooks': ['viewer', 403],
  'POST /api/webhooks': ['operator', 403],
  'GET /api/webhooks/{id}': ['viewer', 403],
  'PUT /api/webhooks/{id}': ['operator', 403],
  'DELETE /api/webhooks/{id}': ['operator', 403],
  'POST /api/webhooks/{id}/rotate-secret': ['operator', 403],
  'POST /api/webhooks/{id}/test': ['operator', 403],
  'GET /api/webhooks/{id}/deliveries': ['viewer', 403],
  'GET /api/webhooks/{id}/deliveries/{delivery_id}': ['viewer', 403],
  'POST /api/webhooks/{id}/deliveries/{delivery_id}/redeliver': ['operator', 403],
  'GET /api/webhook-events': ['viewer', 403],
  'GET /api/keys': ['viewer', 403],
  'POST /api/keys/rotate': ['owner', 403],
  'GET /api/audit-log': ['viewer', 403],
  'GET /api/administrators': ['owner', 403],
  'POST /api/administrators': ['owner', 403],
  'GET /api/administrators/{id}': ['owner', 403],
  'PUT /api/administrators/{id}': ['owner', 403],
  'DELETE /api/administrators/{id}': ['owner', 403],
  'GET /api/administrators/{id}/keys': ['owner', 403],
  'DELETE /api/administrators/{id}/keys/{key_id}': ['owner', 403],
  'GET /api/administrators/me': ['viewer', 'own'],
  'PUT /api/administrators/me': ['viewer', 'own'],
  'GET /api/administrators/me/keys': ['viewer', 'own'],
  'POST /api/administrators/me/keys': ['viewer', 'own'],
  'DELETE /api/administrators/me/keys/{key_id}': ['viewer', 'own'],
};
const OWN_ACCOUNT_CHANGES = /^(PUT|POST|DELETE) \/api\/administrators\/me/;

/** A body that would change something where it is let through. */
const BODIES: Record<string, unknown> = {
  'PUT /api/agents/{id}': { name: 'stolen' },
  'POST /api/agents/{id}': { action: 'deactivate' },
  'PUT /api/organizations/{id}': { name: 'stolen' },
  'POST /api/organizations': { name: 'Stolen', slug: 'stolen', owner_email: 'thief@signet.test' },
  'POST /api/organizations/{org_id}/agents': { name: 'stolen' },
  'POST /api/organizations/{org_id}/teams': { name: 'stolen' },
  'PUT /api/organizations/{org_id}/teams/{team_id}': { name: 'stolen' },
  'POST /api/webhooks': { name: 'stolen', url: 'https://thief.test/' },
  'PUT /api/webhooks/{id}': { name: 'stolen' },
  'POST /api/administrators': { email: 'thief@signet.test', role: 'owner' },
  'PUT /api/administrators/{id}': { role: 'viewer' },
};

let service: TestService;
const accounts: Record<string, Account> = {};
let narrowedKey: string;
/** Of the organization that the bound administrators are not of. */
let theirs: Record<string, string>;
let ownOrganization: string;

before(async () => {
  service = await startService();
  const [here, there] = [await addOrganization(service, 'here'), await addOrganization(service, 'there')];
  ownOrganization = here;
  for (const role of ROLES) {
    accounts[role] = await addAdministrator(service, { role });
    accounts[`bound ${role}`] = await addAdministrator(service, { role, organization_id: here });
  }
  const json = { name: 'narrow', role: 'viewer' };
  const owner = accounts['owner'] as Account;
  narrowedKey = (await service.call('POST', '/api/administrators/me/keys', { admin: owner, json })).body
    .secret;
  theirs = await thingsOf(there, owner);
});
after(() => service.stop());

/** One of everything that has an identifier, outside of the reach of those who are bound. */
async function thingsOf(org: string, owner: Account): Promise<Record<string, string>> {
  const post = async (path: string, json: object) =>
    (await service.call('POST', path, { admin: owner, json })).body;
  const team = await post(`/api/organizations/${org}/teams`, { name: 'team' });
  const { agent } = await post('/api/agents', { name: 'agent', organization_id: org, team_id: team.id });
  const { webhook } = await post('/api/webhooks', { name: 'hook', url: 'http://127.0.0.1:1/' });
  const { key } = await post('/api/administrators/me/keys', { name: 'script' });
  return {
    organizations: org,
    org_id: org,
    team_id: team.id,
    agents: agent.id,
    webhooks: webhook.id,
    administrators: owner.id,
    key_id: key.id,
    delivery_id: 'delivery_00000000000000000000000000',
  };
}

/** The path with the identifiers of theirs; with none that exists where there is nothing to be found. */
function fill(template: string, ids: Record<string, string> | null): string {
  const kind = template.split('/')[2] ?? '';
  return template.replace(
    /\{(\w+)\}/g,
    (_whole, name: string) => ids?.[name === 'id' ? kind : name] ?? 'x_0',
  );
}

const call = (name: string, ids: Record<string, string> | null, options: CallOptions): Promise<Answer> => {
  const [method = '', template = ''] = name.split(' ');
  const json = method === 'PUT' || method === 'POST' ? { json: BODIES[name] ?? {} } : {};
  return service.call(method, fill(template, ids), { ...(ids === null ? {} : json), ...options });
};

const account = (name: string): { admin: Account } => ({ admin: accounts[name] as Account });

test('every administrator path of the OpenAPI document is in the table of this test, and says its role', async () => {
  const { paths } = (await send(service.url, 'GET', '/openapi.json')).body;
  const described = new Map<string, string>();
  for (const [path, methods] of Object.entries<Record<string, { security: object[]; description: string }>>(
    paths,
  ))
    for (const [method, { security, description }] of Object.entries(methods))
      if (security.some((choice) => 'administrator' in choice))
        described.set(`${method.toUpperCase()} ${path}`, description);
  assert.deepEqual([...described.keys()].sort(), Object.keys(EXPECTED).sort());
  for (const [name, [role]] of Object.entries(EXPECTED))
    assert.match(described.get(name) ?? '', new RegExp(`Needs the role \`${role}\``), name);
});

test('a route that the table does not know stops the start, and so does a line without its route', async () => {
  const deps = { database: {} as Database };
  const starting = (open: (app: FastifyInstance) => void) => {
    const app = Fastify();
    watchAccess(app, deps);
    open(app);
    return app.ready();
  };
  await assert.rejects(
    async () => starting((app) => void app.get('/api/new', async () => null)),
    /GET \/api\/new has no line in the table/,
  );
  await assert.rejects(
    async () => starting((app) => void app.get('/api/agents', async () => null)),
    /There is no such administrator route: POST \/api\/agents, /,
  );
});

for (const role of ROLES) {
  test(`each path lets an administrator in whose role is ${role}, or refuses by role before it looks at anything`, async () => {
    for (const [name, [needed]] of Object.entries(EXPECTED)) {
      const answer = await call(name, null, account(role));
      if (ROLES.indexOf(role) < ROLES.indexOf(needed)) assertError(answer, 403, 'insufficient_role');
      else assert.ok(![401, 403, 429].includes(answer.status), `${name} ${answer.status}`);
    }
  });
}

test('HEAD needs what GET does', async () => {
  for (const [role, status] of [
    ['operator', 403],
    ['owner', 200],
  ] as const) {
    assert.equal((await service.call('HEAD', '/api/administrators', account(role))).status, status);
  }
});

test('an owner’s API key that is narrowed to viewer is a viewer on each path, and changes nothing of the account', async () => {
  for (const [name, [needed]] of Object.entries(EXPECTED)) {
    const answer = await call(name, null, { bearer: narrowedKey });
    const isRefused = needed !== 'viewer' || OWN_ACCOUNT_CHANGES.test(name);
    if (isRefused) assertError(answer, 403, 'insufficient_role');
    else assert.ok(![401, 403, 429].includes(answer.status), `${name} ${answer.status}`);
  }
});

test('what is of another organization is not there for the bound, whatever their role, on any path; nothing of it changes', async () => {
  const before = await everything();
  for (const role of ROLES) {
    for (const [name, [needed, expected]] of Object.entries(EXPECTED)) {
      if (expected === 'own') continue;
      const answer = await call(name, theirs, account(`bound ${role}`));
      const isRefused = ROLES.indexOf(role) < ROLES.indexOf(needed);
      assert.equal(answer.status, isRefused ? 403 : expected, `${name} as bound ${role}`);
      if (expected === 404 && !isRefused) {
        const nothing = await call(name, { ...theirs, ...missing() }, account(`bound ${role}`));
        assert.deepEqual([nothing.status, nothing.body], [answer.status, answer.body], name);
      }
    }
  }
  assert.deepEqual(await everything(), before);
});

/** Identifiers of nothing. */
const missing = () => ({ organizations: 'org_x', org_id: 'org_x', agents: 'agent_x' });

/** All that an owner sees, but for when a key was used. */
async function everything(): Promise<unknown> {
  const org = theirs['org_id'];
  const paths = ['agents', 'organizations', 'webhooks', 'administrators', `organizations/${org}/teams`];
  return Promise.all(
    paths.map(async (path) => (await service.call('GET', `/api/${path}`, account('owner'))).body),
  );
}

test('the bound see and change what is of their organization, and nothing else is in their lists', async () => {
  const me = account('bound operator');
  const get = async (path: string) => (await service.call('GET', path, me)).body;
  await service.createAgent({ name: 'of nobody' });
  const json = { name: 'ours' };
  const made = await service.call('POST', '/api/agents', { ...me, json });
  assert.deepEqual([made.status, made.body.agent.organization_id], [201, ownOrganization]);
  const { id } = made.body.agent;
  const ids = ({ agents }: { agents: { id: string }[] }) => agents.map((agent) => agent.id);
  assert.deepEqual(ids(await get('/api/agents')), [id]);
  assert.deepEqual(ids(await get(`/api/organizations/${ownOrganization}/agents`)), [id]);
  for (const filter of [`organization_id=${theirs['org_id']}`, `team_id=${theirs['team_id']}`, 'q=of nobody'])
    assert.deepEqual(ids(await get(`/api/agents?${filter}`)), [], filter);
  const { organizations } = await get('/api/organizations');
  assert.deepEqual(
    organizations.map((organization: { id: string }) => organization.id),
    [ownOrganization],
  );
  for (const [method, path, options] of [
    ['GET', `/api/agents/${id}`, {}],
    ['PUT', `/api/agents/${id}`, { json: { name: 'renamed' } }],
    ['POST', `/api/agents/${id}`, { json: { action: 'rotate' } }],
    ['GET', `/api/organizations/${ownOrganization}`, {}],
    ['PUT', `/api/organizations/${ownOrganization}`, { json: { name: 'Renamed' } }],
  ] as const) {
    assert.equal((await service.call(method, path, { ...me, ...options })).status, 200, `${method} ${path}`);
  }
  assert.equal((await service.call('DELETE', `/api/agents/${id}`, me)).status, 204);
});

test('the bound make no agent elsewhere, by no member, and take no team of another organization', async () => {
  const me = account('bound owner');
  const { org_id, team_id } = theirs;
  for (const json of [
    { name: 'x', organization_id: org_id },
    { name: 'x', organization_id: 'org_x' },
    { name: 'x', organization_id: org_id, team_id },
    { name: 'x', team_id },
  ]) {
    assertError(await service.call('POST', '/api/agents', { ...me, json }), 400, 'invalid_request');
  }
  const [known, unknown] = await Promise.all(
    [org_id, 'org_x'].map((organization_id) =>
      service.call('POST', '/api/agents', { ...me, json: { name: 'x', organization_id } }),
    ),
  );
  assert.deepEqual(known?.body, unknown?.body);
  const agents = `/api/organizations/${ownOrganization}/agents`;
  const elsewhere = { name: 'x', organization_id: org_id };
  assertError(await service.call('POST', agents, { ...me, json: elsewhere }), 400, 'invalid_request');
  const team = `/api/organizations/${ownOrganization}/teams/${team_id}`;
  assertError(await service.call('GET', team, me), 404, 'not_found');
});

test('the bound neither delete their organization nor change how long its tokens live', async () => {
  const path = `/api/organizations/${ownOrganization}`;
  const me = account('bound owner');
  assertError(await service.call('DELETE', path, me), 403, 'insufficient_role');
  const json = { name: 'Longer', jwt_expiry_secs: 2_592_000 };
  assertError(await service.call('PUT', path, { ...me, json }), 403, 'insufficient_role');
  const { body } = await service.call('GET', path, me);
  assert.deepEqual([body.jwt_expiry_secs, body.name === 'Longer'], [null, false]);
});

test('an administrator who is bound or demoted is so from the next request on, with keys too', async () => {
  const somebody = await addAdministrator(service, { role: 'operator' });
  const json = { name: 'script' };
  const made = await service.call('POST', '/api/administrators/me/keys', { admin: somebody, json });
  const status = async (path: string) =>
    (await service.call('GET', path, { bearer: made.body.secret })).status;
  const change = (changes: object) =>
    service.call('PUT', `/api/administrators/${somebody.id}`, { admin: true, json: changes });
  assert.equal(await status('/api/webhooks'), 200);
  await change({ organization_id: ownOrganization });
  assert.deepEqual(
    [await status('/api/webhooks'), await status(`/api/agents/${theirs['agents']}`)],
    [403, 404],
  );
  await change({ organization_id: null, role: 'owner' });
  assert.equal(await status('/api/administrators'), 200);
  await change({ role: 'viewer' });
  assert.deepEqual([await status('/api/administrators'), await status('/api/webhooks')], [403, 200]);
});

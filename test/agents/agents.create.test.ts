import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, assertInvalid } from '../assert-error.ts';
import { type Answer, startService, type TestService } from '../harness.ts';

const TEN_YEARS_SECONDS = 315_360_000;

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const create = (json: unknown): Promise<Answer> => service.call('POST', '/api/agents', { admin: true, json });
const read = (path: string): Promise<Answer> => service.call('GET', path, { admin: true });

async function newOrganization(slug: string): Promise<string> {
  const json = { name: slug, slug, owner_email: 'owner@acme.example' };
  return (await service.call('POST', '/api/organizations', { admin: true, json })).body.id;
}

async function newTeam(organizationId: string): Promise<string> {
  const path = `/api/organizations/${organizationId}/teams`;
  return (await service.call('POST', path, { admin: true, json: { name: 'team' } })).body.id;
}

test('POST /api/agents 201: a name is enough, the rest has its defaults', async () => {
  const { status, body } = await create({ name: 'importer' });
  assert.equal(status, 201);
  const { id, client_id: clientId, ...rest } = body.agent;
  assert.match(id, /^agent_[0-9a-z]{26}$/);
  assert.match(clientId, /^cid_[0-9a-z]{26}$/);
  assert.equal(body.client_id, clientId);
  assert.match(body.client_secret, /^cs_[0-9a-z]{50,}$/);
  assert.deepEqual(rest, {
    name: 'importer',
    scopes: ['read'],
    is_active: true,
    organization_id: null,
    team_id: null,
    expires_at: null,
    created_at: new Date(service.clock.now()).toISOString(),
    token_count: 0,
    refresh_count: 0,
    last_activity_at: null,
  });
  assert.deepEqual((await read(`/api/agents/${id}`)).body.agent.name, 'importer');
});

test('POST /api/agents 201: organization, team, scopes and expiry are taken over', async () => {
  const organizationId = await newOrganization('whole');
  const teamId = await newTeam(organizationId);
  const { status, body } = await create({
    name: 'whole',
    scopes: ['admin', 'read'],
    organization_id: organizationId,
    team_id: teamId,
    expires_in: 90,
  });
  assert.equal(status, 201);
  const { agent } = (await read(`/api/agents/${body.agent.id}`)).body;
  assert.deepEqual([agent.organization_id, agent.team_id], [organizationId, teamId]);
  assert.deepEqual(agent.scopes, ['admin', 'read']);
  assert.equal(Date.parse(agent.expires_at), service.clock.now() + 90_000);
});

test('POST /api/agents 201: the secret that was answered gets a token', async () => {
  const agent = await service.createAgent();
  const { accessToken } = await service.tokens(agent);
  assert.equal((await service.introspect(accessToken)).client_id, agent.clientId);
});

test('POST /api/agents 201: two agents of one name are two agents', async () => {
  const [one, other] = await Promise.all([create({ name: 'twin' }), create({ name: 'twin' })]);
  assert.deepEqual([one.status, other.status], [201, 201]);
  for (const field of ['client_id', 'client_secret']) assert.notEqual(one.body[field], other.body[field]);
  assert.notEqual(one.body.agent.id, other.body.agent.id);
});

for (const [what, json] of [
  ['a name of one character', { name: 'x' }],
  ['a name of 200 characters', { name: '長'.repeat(200) }],
  ['an expiry of one second', { name: 'short', expires_in: 1 }],
  ['an expiry of ten years', { name: 'long', expires_in: TEN_YEARS_SECONDS }],
  ['null where nothing is meant', { name: 'none', organization_id: null, team_id: null, expires_in: null }],
] as const) {
  test(`POST /api/agents 201: ${what} is taken`, async () => {
    const { status, body } = await create(json);
    assert.equal(status, 201);
    assert.equal((await read(`/api/agents/${body.agent.id}`)).body.agent.name, json.name);
  });
}

for (const [what, field, json] of [
  ['no name', 'name', { scopes: ['read'] }],
  ['an empty name', 'name', { name: '' }],
  ['a blank name', 'name', { name: ' \t ' }],
  ['a name of 201 characters', 'name', { name: 'x'.repeat(201) }],
  ['a name that is no string', 'name', { name: 7 }],
  ['no scope at all', 'scopes', { name: 'bad', scopes: [] }],
  ['a scope twice', 'scopes', { name: 'bad', scopes: ['read', 'read'] }],
  ['an unknown scope', 'scopes', { name: 'bad', scopes: ['read', 'root'] }],
  ['scopes as one string', 'scopes', { name: 'bad', scopes: 'read write' }],
  ['an expiry of no time', 'expires_in', { name: 'bad', expires_in: 0 }],
  ['an expiry in the past', 'expires_in', { name: 'bad', expires_in: -60 }],
  ['an expiry beyond ten years', 'expires_in', { name: 'bad', expires_in: TEN_YEARS_SECONDS + 1 }],
  ['a second and a half', 'expires_in', { name: 'bad', expires_in: 1.5 }],
  ['a number in quotes', 'expires_in', { name: 'bad', expires_in: '60' }],
  ['an unknown member', 'is_active', { name: 'bad', is_active: false }],
  ['a chosen client_id', 'client_id', { name: 'bad', client_id: 'cid_mine' }],
  ['an organization that does not exist', 'organization_id', { name: 'bad', organization_id: 'org_none' }],
  ['a team without its organization', 'team_id', { name: 'bad', team_id: 'team_none' }],
  ['no body', 'body', undefined],
  ['a list', 'body', [{ name: 'bad' }]],
] as const) {
  test(`POST /api/agents 400: ${what} is refused, and nothing is created`, async () => {
    const before = (await read('/api/agents')).body.agents.length;
    assertInvalid(await create(json), field);
    assert.equal((await read('/api/agents')).body.agents.length, before);
  });
}

test('POST /api/agents 400: a team of another organization is refused, and nothing is created', async () => {
  const [mine, theirs] = [await newOrganization('mine'), await newOrganization('theirs')];
  const teamId = await newTeam(theirs);
  assertInvalid(await create({ name: 'spy', organization_id: mine, team_id: teamId }), 'team_id');
  assert.deepEqual((await read(`/api/agents?organization_id=${mine}`)).body, { agents: [] });
});

test('GET /api/agents/:id 200: shows the living secrets, never their values', async () => {
  const { id, clientSecret } = await service.createAgent();
  const { status, body } = await read(`/api/agents/${id}`);
  assert.equal(status, 200);
  const created = new Date(service.clock.now()).toISOString();
  assert.deepEqual(body.agent.secrets, [{ created_at: created, expires_at: null, last_used_at: null }]);
  assert.equal(JSON.stringify(body).includes(clientSecret), false);
  assert.equal('client_secret' in body.agent, false);
});

test('GET /api/agents/:id 404: no such agent', async () => {
  assertError(await read('/api/agents/agent_none'), 404, 'not_found');
});

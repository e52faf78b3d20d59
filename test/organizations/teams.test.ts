import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, assertInvalid } from '../assert-error.ts';
import { type Answer, startService, type TestService } from '../harness.ts';

let service: TestService;
let organizationId: string;
let otherId: string;
let teams: string;

before(async () => {
  service = await startService();
  [organizationId, otherId] = [await newOrganization('acme'), await newOrganization('other')];
  teams = `/api/organizations/${organizationId}/teams`;
});
after(() => service.stop());

async function newOrganization(slug: string): Promise<string> {
  const json = { name: slug, slug, owner_email: 'owner@acme.example' };
  return (await service.call('POST', '/api/organizations', { admin: true, json })).body.id;
}
const create = (json: unknown): Promise<Answer> => service.call('POST', teams, { admin: true, json });
const read = (path: string): Promise<Answer> => service.call('GET', path, { admin: true });
const newTeam = async (name = 'team'): Promise<string> => (await create({ name })).body.id;

test('POST /api/organizations/:org_id/teams 201: answers the team', async () => {
  const { status, body } = await create({ name: 'Payments', description: 'Moves money.' });
  assert.equal(status, 201);
  const { id, ...rest } = body;
  assert.match(id, /^team_[0-9a-z]{26}$/);
  assert.deepEqual(rest, {
    name: 'Payments',
    description: 'Moves money.',
    organization_id: organizationId,
    created_at: new Date(service.clock.now()).toISOString(),
  });
  assert.deepEqual((await read(`${teams}/${id}`)).body, body);
});

test('POST /api/organizations/:org_id/teams 201: a name is enough', async () => {
  const { status, body } = await create({ name: 'x' });
  assert.deepEqual([status, body.description], [201, '']);
});

test('POST /api/organizations/:org_id/teams 201: a description may have 1,000 characters', async () => {
  const { body } = await create({ name: 'x', description: 'd'.repeat(1000) });
  assert.equal((await read(`${teams}/${body.id}`)).body.description.length, 1000);
});

for (const [what, field, json] of [
  ['no name', 'name', { description: 'x' }],
  ['an empty name', 'name', { name: '' }],
  ['a name of 201 characters', 'name', { name: 'x'.repeat(201) }],
  ['a description of 1,001 characters', 'description', { name: 'x', description: 'd'.repeat(1001) }],
  ['a description that is no string', 'description', { name: 'x', description: 7 }],
  ['an unknown member', 'organization_id', { name: 'x', organization_id: 'org_other' }],
  ['no body', 'body', undefined],
] as const) {
  test(`POST /api/organizations/:org_id/teams 400: ${what} is refused, and nothing is created`, async () => {
    const before = (await read(teams)).body.teams.length;
    assertInvalid(await create(json), field);
    assert.equal((await read(teams)).body.teams.length, before);
  });
}

test('GET /api/organizations/:org_id/teams 200: its own, newest first, in pages', async () => {
  const id = await newOrganization('pages');
  const path = `/api/organizations/${id}/teams`;
  const names = ['one', 'two', 'three'];
  for (const name of names) await service.call('POST', path, { admin: true, json: { name } });
  const namesIn = ({ body }: Answer) => body.teams.map((team: { name: string }) => team.name);
  assert.deepEqual(namesIn(await read(path)), names.toReversed());
  const first = await read(`${path}?limit=2`);
  assert.deepEqual(namesIn(first), ['three', 'two']);
  const second = await read(`${path}?limit=2&cursor=${first.body.next_cursor}`);
  assert.deepEqual(second.body.teams[0].name, 'one');
  assert.equal('next_cursor' in second.body, false);
  assert.deepEqual((await read(`/api/organizations/${otherId}/teams`)).body, { teams: [] });
});

for (const [field, query] of [
  ['limit', 'limit=0'],
  ['limit', 'limit=1001'],
  ['cursor', 'cursor=x'],
  ['cursor', 'cursor=org_01k0d4v3s6e8wbn7xtq5mzr2ch'],
] as const) {
  test(`GET /api/organizations/:org_id/teams 400: ${query} is refused`, async () => {
    assertInvalid(await read(`${teams}?${query}`), field);
  });
}

test('PUT /api/organizations/:org_id/teams/:team_id 200: what is sent changes, what is absent stays', async () => {
  const path = `${teams}/${await newTeam('before')}`;
  const before = (await read(path)).body;
  const { status, body } = await service.call('PUT', path, { admin: true, json: { description: 'new' } });
  assert.deepEqual([status, body], [200, { ...before, description: 'new' }]);
  await service.call('PUT', path, { admin: true, json: { name: 'after' } });
  assert.deepEqual((await read(path)).body, { ...before, name: 'after', description: 'new' });
});

for (const [what, field, json] of [
  ['an empty name', 'name', { name: '' }],
  ['a description of 1,001 characters', 'description', { description: 'd'.repeat(1001) }],
  ['a move to another organization', 'organization_id', { organization_id: 'org_other' }],
] as const) {
  test(`PUT /api/organizations/:org_id/teams/:team_id 400: ${what} is refused, and nothing changes`, async () => {
    const path = `${teams}/${await newTeam()}`;
    const before = (await read(path)).body;
    assertInvalid(await service.call('PUT', path, { admin: true, json }), field);
    assert.deepEqual((await read(path)).body, before);
  });
}

test('PUT /api/organizations/:org_id/teams/:team_id 400: an empty update is refused', async () => {
  const path = `${teams}/${await newTeam()}`;
  assertError(await service.call('PUT', path, { admin: true, json: {} }), 400, 'invalid_request');
});

test('DELETE /api/organizations/:org_id/teams/:team_id 204: its agents stay in the organization', async () => {
  const id = await newTeam();
  const agent = await service.createAgent({ organization_id: organizationId, team_id: id });
  const { accessToken } = await service.tokens(agent);
  const { status } = await service.call('DELETE', `${teams}/${id}`, { admin: true });
  assert.equal(status, 204);
  assertError(await read(`${teams}/${id}`), 404, 'not_found');
  const after = (await read(`/api/agents/${agent.id}`)).body.agent;
  assert.deepEqual([after.organization_id, after.team_id], [organizationId, null]);
  assert.equal((await service.introspect(accessToken)).active, true);
});

for (const [method, json] of [
  ['GET', undefined],
  ['PUT', { name: 'x' }],
  ['DELETE', undefined],
] as const) {
  const options = { admin: true, ...(json !== undefined && { json }) } as const;

  test(`${method} /api/organizations/:org_id/teams/:team_id 404: no such team`, async () => {
    assertError(await service.call(method, `${teams}/team_none`, options), 404, 'not_found');
  });

  test(`${method} /api/organizations/:org_id/teams/:team_id 404: a team of another organization is not found`, async () => {
    const id = await newTeam();
    const path = `/api/organizations/${otherId}/teams/${id}`;
    assertError(await service.call(method, path, options), 404, 'not_found');
    assert.equal((await read(`${teams}/${id}`)).body.name, 'team');
  });
}

test('POST and GET /api/organizations/:org_id/teams 404: no such organization', async () => {
  const path = '/api/organizations/org_none/teams';
  assertError(await service.call('POST', path, { admin: true, json: { name: 'x' } }), 404, 'not_found');
  assertError(await read(path), 404, 'not_found');
});

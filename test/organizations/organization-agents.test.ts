import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, assertInvalid } from '../assert-error.ts';
import { type Answer, startService, type TestService } from '../harness.ts';

let service: TestService;
let organizationId: string;
let path: string;

before(async () => {
  service = await startService();
  organizationId = await newOrganization('acme');
  path = `/api/organizations/${organizationId}/agents`;
});
after(() => service.stop());

async function newOrganization(slug: string): Promise<string> {
  const json = { name: slug, slug, owner_email: 'owner@acme.example' };
  return (await service.call('POST', '/api/organizations', { admin: true, json })).body.id;
}
const create = (json: unknown): Promise<Answer> => service.call('POST', path, { admin: true, json });
const list = (query = ''): Promise<Answer> => service.call('GET', `${path}${query}`, { admin: true });
const namesIn = ({ body }: Answer): string[] => body.agents.map((agent: { name: string }) => agent.name);

test('POST /api/organizations/:org_id/agents 201: the agent belongs to the organization and gets tokens', async () => {
  const { status, body } = await create({ name: 'owned', scopes: ['write'] });
  assert.equal(status, 201);
  assert.deepEqual([body.agent.organization_id, body.agent.scopes], [organizationId, ['write']]);
  assert.equal(body.client_id, body.agent.client_id);
  const agent = { id: body.agent.id, clientId: body.client_id, clientSecret: body.client_secret };
  const { accessToken } = await service.tokens(agent);
  assert.equal((await service.introspect(accessToken)).org_id, organizationId);
});

test('POST /api/organizations/:org_id/agents 201: the organization may be named again', async () => {
  const { status, body } = await create({ name: 'again', organization_id: organizationId });
  assert.deepEqual([status, body.agent.organization_id], [201, organizationId]);
});

test('POST /api/organizations/:org_id/agents 400: another organization than the path’s is refused', async () => {
  const other = await newOrganization('other');
  assertInvalid(await create({ name: 'torn', organization_id: other }), 'organization_id');
  assert.deepEqual(namesIn(await list('?q=torn')), []);
});

for (const [what, field, json] of [
  ['no name', 'name', {}],
  ['a scope twice', 'scopes', { name: 'bad', scopes: ['read', 'read'] }],
  ['a team that it does not have', 'team_id', { name: 'bad', team_id: 'team_none' }],
  ['an unknown member', 'is_active', { name: 'bad', is_active: true }],
] as const) {
  test(`POST /api/organizations/:org_id/agents 400: ${what} is refused, and nothing is created`, async () => {
    const before = namesIn(await list());
    assertInvalid(await create(json), field);
    assert.deepEqual(namesIn(await list()), before);
  });
}

test('GET /api/organizations/:org_id/agents 200: its own agents, newest first, in pages and by filter', async () => {
  const id = await newOrganization('listed');
  const agents = `/api/organizations/${id}/agents`;
  for (const name of ['one', 'two', 'three']) {
    await service.call('POST', agents, { admin: true, json: { name } });
  }
  await service.createAgent({ name: 'three elsewhere' });
  const get = (query: string) => service.call('GET', agents + query, { admin: true });
  assert.deepEqual(namesIn(await get('')), ['three', 'two', 'one']);
  assert.deepEqual(namesIn(await get('?q=THREE')), ['three']);
  const first = await get('?limit=2');
  assert.deepEqual(namesIn(first), ['three', 'two']);
  const second = await get(`?limit=2&cursor=${first.body.next_cursor}`);
  assert.deepEqual(namesIn(second), ['one']);
  assert.equal('next_cursor' in second.body, false);
});

for (const [field, query] of [
  ['limit', '?limit=0'],
  ['cursor', '?cursor=x'],
  ['organization_id', '?organization_id=org_other'],
] as const) {
  test(`GET /api/organizations/:org_id/agents 400: ${query} is refused`, async () => {
    assertInvalid(await list(query), field);
  });
}

test('POST and GET /api/organizations/:org_id/agents 404: no such organization', async () => {
  const unknown = '/api/organizations/org_none/agents';
  const created = await service.call('POST', unknown, { admin: true, json: { name: 'x' } });
  assertError(created, 404, 'not_found');
  assertError(await service.call('GET', unknown, { admin: true }), 404, 'not_found');
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvalid } from '../assert-error.ts';
import { type Answer, startService, type TestAgent, type TestService } from '../harness.ts';

const NAMES = ['Alpha', 'beta 100%', 'beta 100x', 'snake_case', 'snakeXcase', 'back\\slash', 'ÄRGER'];

let service: TestService;
let organizationId: string;
let teamId: string;
const agents = new Map<string, TestAgent>();

before(async () => {
  service = await startService();
  const organization = { name: 'Acme', slug: 'acme', owner_email: 'owner@acme.example' };
  const created = await service.call('POST', '/api/organizations', { admin: true, json: organization });
  organizationId = created.body.id;
  const path = `/api/organizations/${organizationId}/teams`;
  teamId = (await service.call('POST', path, { admin: true, json: { name: 'team' } })).body.id;
  for (const name of NAMES) agents.set(name, await service.createAgent({ name }));
  const owned = { organization_id: organizationId };
  agents.set('owned', await service.createAgent({ name: 'owned', ...owned }));
  agents.set('teamed', await service.createAgent({ name: 'teamed', ...owned, team_id: teamId }));
  const idle = await service.createAgent({ name: 'idle', ...owned });
  agents.set('idle', idle);
  await service.call('PUT', `/api/agents/${idle.id}`, { admin: true, json: { is_active: false } });
});
after(() => service.stop());

const NEWEST_FIRST = ['idle', 'teamed', 'owned', ...NAMES.toReversed()];

function list(query: Record<string, string> = {}): Promise<Answer> {
  return service.call('GET', `/api/agents?${new URLSearchParams(query)}`, { admin: true });
}
const namesIn = ({ body }: Answer): string[] => body.agents.map((agent: { name: string }) => agent.name);
const find = async (query: Record<string, string>): Promise<string[]> => namesIn(await list(query));

test('GET /api/agents 200: newest first, all fields, no secret, and no cursor where nothing remains', async () => {
  const { status, body } = await list();
  assert.equal(status, 200);
  assert.deepEqual(
    body.agents.map((agent: { name: string }) => agent.name),
    NEWEST_FIRST,
  );
  assert.equal('next_cursor' in body, false);
  for (const field of ['id', 'name', 'client_id', 'scopes', 'is_active', 'token_count']) {
    assert.ok(field in body.agents[0], field);
  }
  for (const { clientSecret } of agents.values()) assert.ok(!JSON.stringify(body).includes(clientSecret));
});

test('GET /api/agents 200: pages follow each other without gap or repetition, and the last has no cursor', async () => {
  const seen: string[] = [];
  const sizes: number[] = [];
  let cursor: string | undefined;
  do {
    const answer = await list({ limit: '4', ...(cursor !== undefined && { cursor }) });
    seen.push(...namesIn(answer));
    sizes.push(answer.body.agents.length);
    cursor = answer.body.next_cursor;
  } while (cursor !== undefined && sizes.length < NEWEST_FIRST.length);
  assert.deepEqual(seen, NEWEST_FIRST);
  assert.deepEqual(sizes, [4, 4, 2]);
});

test('GET /api/agents 200: a page that ends exactly at the last agent has no cursor', async () => {
  assert.equal('next_cursor' in (await list({ limit: String(NEWEST_FIRST.length) })).body, false);
  assert.equal('next_cursor' in (await list({ limit: String(NEWEST_FIRST.length - 1) })).body, true);
});

test('GET /api/agents 200: a cursor outlives the agent that it names', async () => {
  const extra = await service.createAgent({ name: 'gone soon' });
  const { body } = await list({ limit: '1' });
  await service.call('DELETE', `/api/agents/${extra.id}`, { admin: true });
  assert.deepEqual(await find({ cursor: body.next_cursor }), NEWEST_FIRST);
});

for (const [what, query, expected] of [
  ['is_active=true', { is_active: 'true' }, NEWEST_FIRST.slice(1)],
  ['is_active=false', { is_active: 'false' }, ['idle']],
  ['q in any case', { q: 'ALPH' }, ['Alpha']],
  ['q in the middle of a name', { q: 'eta 10' }, ['beta 100x', 'beta 100%']],
  ['% in q taken literally', { q: '100%' }, ['beta 100%']],
  ['_ in q taken literally', { q: 'snake_' }, ['snake_case']],
  ['a backslash in q taken literally', { q: 'k\\s' }, ['back\\slash']],
  ['q in any case beyond ASCII', { q: 'ärger' }, ['ÄRGER']],
  ['q as it was written beyond ASCII', { q: 'ÄRGER' }, ['ÄRGER']],
  ['q that nothing matches', { q: 'nowhere' }, []],
  ['an organization that does not exist', { organization_id: 'org_none' }, []],
] as const) {
  test(`GET /api/agents 200: filters by ${what}`, async () => {
    assert.deepEqual(await find(query), expected);
  });
}

test('GET /api/agents 200: filters by organization and team, and joins filters', async () => {
  const organization = { organization_id: organizationId };
  assert.deepEqual(await find(organization), ['idle', 'teamed', 'owned']);
  assert.deepEqual(await find({ team_id: teamId }), ['teamed']);
  assert.deepEqual(await find({ ...organization, is_active: 'true', q: 'o' }), ['owned']);
});

test('GET /api/agents 200: q finds a whole client_id, and no part of one', async () => {
  const { clientId } = agents.get('Alpha') ?? assert.fail();
  assert.deepEqual(await find({ q: clientId }), ['Alpha']);
  assert.deepEqual(await find({ q: clientId.slice(0, -1) }), []);
});

test('GET /api/agents 200: filters hold across pages', async () => {
  const first = await list({ organization_id: organizationId, limit: '2' });
  assert.deepEqual(namesIn(first), ['idle', 'teamed']);
  const rest = await list({ organization_id: organizationId, limit: '2', cursor: first.body.next_cursor });
  assert.deepEqual(namesIn(rest), ['owned']);
});

for (const [field, query] of [
  ['limit', 'limit=0'],
  ['limit', 'limit=1001'],
  ['limit', 'limit=-1'],
  ['limit', 'limit=1.5'],
  ['limit', 'limit=many'],
  ['limit', 'limit='],
  ['limit', 'limit=1&limit=2'],
  ['cursor', 'cursor='],
  ['cursor', 'cursor=x'],
  ['cursor', 'cursor=org_01k0d4v3s6e8wbn7xtq5mzr2ch'],
  ['cursor', "cursor=agent_' or 1=1 --"],
  ['is_active', 'is_active=perhaps'],
  ['q', 'q='],
  ['q', `q=${'x'.repeat(201)}`],
  ['offset', 'offset=10'],
] as const) {
  test(`GET /api/agents 400: ${query.slice(0, 40)} is refused`, async () => {
    assertInvalid(await service.call('GET', `/api/agents?${query}`, { admin: true }), field);
  });
}

test('GET /api/agents 200: the largest limit is 1000', async () => {
  assert.deepEqual(await find({ limit: '1000' }), NEWEST_FIRST);
});

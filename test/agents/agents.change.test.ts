import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, assertInvalid } from '../assert-error.ts';
import { type Answer, startService, type TestService } from '../harness.ts';

const UNKNOWN = '/api/agents/agent_00000000000000000000000000';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const change = (id: string, json: unknown): Promise<Answer> =>
  service.call('PUT', `/api/agents/${id}`, { admin: true, json });
const act = (id: string, json: unknown): Promise<Answer> =>
  service.call('POST', `/api/agents/${id}`, { admin: true, json });
const read = async (id: string) =>
  (await service.call('GET', `/api/agents/${id}`, { admin: true })).body.agent;

async function newOrganization(slug: string): Promise<{ id: string; teamId: string }> {
  const json = { name: slug, slug, owner_email: 'owner@acme.example' };
  const { body } = await service.call('POST', '/api/organizations', { admin: true, json });
  const path = `/api/organizations/${body.id}/teams`;
  const team = await service.call('POST', path, { admin: true, json: { name: 'team' } });
  return { id: body.id, teamId: team.body.id };
}

test('PUT /api/agents/:id 200: what is sent changes, what is absent stays', async () => {
  const { id } = await service.createAgent({ name: 'before', scopes: ['read'], expires_in: 600 });
  const before = await read(id);
  const { status, body } = await change(id, { name: 'after' });
  assert.equal(status, 200);
  assert.equal(body.agent.name, 'after');
  assert.deepEqual(await read(id), { ...before, name: 'after' });
});

test('PUT /api/agents/:id 200: every field that can change changes in one go', async () => {
  const organization = await newOrganization('all-fields');
  const { id } = await service.createAgent({ organization_id: organization.id });
  const json = { name: 'new', scopes: ['admin'], is_active: false, team_id: organization.teamId };
  assert.equal((await change(id, { ...json, expires_in: 30 })).status, 200);
  const agent = await read(id);
  assert.deepEqual({ ...agent, ...json }, agent);
  assert.equal(Date.parse(agent.expires_at), service.clock.now() + 30_000);
});

test('PUT /api/agents/:id 200: null takes team and expiry away', async () => {
  const organization = await newOrganization('takes-away');
  const { id } = await service.createAgent({
    organization_id: organization.id,
    team_id: organization.teamId,
    expires_in: 60,
  });
  assert.equal((await change(id, { team_id: null, expires_in: null })).status, 200);
  const agent = await read(id);
  assert.deepEqual([agent.team_id, agent.expires_at], [null, null]);
});

for (const [what, field, json] of [
  ['an empty name', 'name', { name: '' }],
  ['a name of 201 characters', 'name', { name: 'x'.repeat(201) }],
  ['null for a name', 'name', { name: null }],
  ['no scopes', 'scopes', { scopes: [] }],
  ['a scope twice', 'scopes', { scopes: ['write', 'write'] }],
  ['an unknown scope', 'scopes', { scopes: ['root'] }],
  ['a word for a flag', 'is_active', { is_active: 'false' }],
  ['an expiry of no time', 'expires_in', { expires_in: 0 }],
  ['an expiry beyond ten years', 'expires_in', { expires_in: 315_360_001 }],
  ['another organization', 'organization_id', { organization_id: 'org_other' }],
  ['an unknown member beside a good one', 'colour', { name: 'new', colour: 'red' }],
  ['a team, where there is no organization', 'team_id', { team_id: 'team_none' }],
  ['no body', 'body', undefined],
] as const) {
  test(`PUT /api/agents/:id 400: ${what} is refused, and nothing changes`, async () => {
    const { id } = await service.createAgent();
    const before = await read(id);
    assertInvalid(await change(id, json), field);
    assert.deepEqual(await read(id), before);
  });
}

test('PUT /api/agents/:id 400: an empty update is refused', async () => {
  const { id } = await service.createAgent();
  assertError(await change(id, {}), 400, 'invalid_request');
});

test('PUT /api/agents/:id 400: a team of another organization is refused, and nothing changes', async () => {
  const [mine, theirs] = [await newOrganization('my-own'), await newOrganization('not-mine')];
  const { id } = await service.createAgent({ organization_id: mine.id, team_id: mine.teamId });
  assertInvalid(await change(id, { name: 'moved', team_id: theirs.teamId }), 'team_id');
  const agent = await read(id);
  assert.deepEqual([agent.name, agent.team_id], ['test agent', mine.teamId]);
});

test('PUT /api/agents/:id 404: no such agent', async () => {
  assertError(await service.call('PUT', UNKNOWN, { admin: true, json: { name: 'x' } }), 404, 'not_found');
});

test('POST /api/agents/:id 200: deactivate and reactivate move is_active, as often as they are sent', async () => {
  const { id } = await service.createAgent();
  for (const [action, isActive] of [
    ['deactivate', false],
    ['deactivate', false],
    ['reactivate', true],
    ['reactivate', true],
  ] as const) {
    const { status, body } = await act(id, { action });
    assert.deepEqual([status, body.agent.is_active], [200, isActive]);
    assert.equal((await read(id)).is_active, isActive);
  }
});

for (const [what, field, json] of [
  ['no action', 'action', {}],
  ['an unknown action', 'action', { action: 'explode' }],
  ['an action that is no string', 'action', { action: ['rotate'] }],
  ['a negative grace period', 'grace_period_secs', { action: 'rotate', grace_period_secs: -1 }],
  ['a grace period over a week', 'grace_period_secs', { action: 'rotate', grace_period_secs: 604_801 }],
  ['half a second of grace', 'grace_period_secs', { action: 'rotate', grace_period_secs: 0.5 }],
  ['a grace period for another action', 'grace_period_secs', { action: 'deactivate', grace_period_secs: 60 }],
  ['an unknown member', 'force', { action: 'rotate', force: true }],
  ['no body', 'body', undefined],
] as const) {
  test(`POST /api/agents/:id 400: ${what} is refused, and the secret goes on working`, async () => {
    const agent = await service.createAgent();
    assertInvalid(await act(agent.id, json), field);
    assert.equal((await read(agent.id)).is_active, true);
    assert.notEqual((await service.tokens(agent)).accessToken, '');
  });
}

for (const action of ['rotate', 'deactivate', 'reactivate', 'revoke_tokens']) {
  test(`POST /api/agents/:id 404: ${action} of no agent`, async () => {
    assertError(await service.call('POST', UNKNOWN, { admin: true, json: { action } }), 404, 'not_found');
  });
}

test('DELETE /api/agents/:id 204: the agent is gone, and a second time is a 404', async () => {
  const { id } = await service.createAgent();
  const path = `/api/agents/${id}`;
  const { status, body } = await service.call('DELETE', path, { admin: true });
  assert.deepEqual([status, body], [204, undefined]);
  assertError(await service.call('GET', path, { admin: true }), 404, 'not_found');
  assertError(await service.call('DELETE', path, { admin: true }), 404, 'not_found');
});

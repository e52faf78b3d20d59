import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { startService, type TestAgent, type TestService } from '../harness.ts';
import { subscribe } from '../webhooks/subscriber.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

async function newOrganization(slug: string): Promise<string> {
  const json = { name: slug, slug, owner_email: 'owner@acme.example' };
  return (await service.call('POST', '/api/organizations', { admin: true, json })).body.id;
}

const newAgents = (count: number, input: Record<string, unknown>): Promise<TestAgent[]> =>
  Promise.all(Array.from({ length: count }, () => service.createAgent(input)));
const remove = (id: string) => service.call('DELETE', `/api/organizations/${id}`, { admin: true });
const statusOf = async (path: string): Promise<number> =>
  (await service.call('GET', path, { admin: true })).status;

test('DELETE /api/organizations/:id 204: its teams, agents and their tokens go with it', async () => {
  const id = await newOrganization('whole');
  const teams = `/api/organizations/${id}/teams`;
  const team = await service.call('POST', teams, { admin: true, json: { name: 'team' } });
  const [agent] = await newAgents(1, { organization_id: id, team_id: team.body.id });
  assert.ok(agent);
  const { accessToken, refreshToken } = await service.tokens(agent);
  const { status, body } = await remove(id);
  assert.deepEqual([status, body], [204, undefined]);
  for (const path of [`/api/organizations/${id}`, teams, `${teams}/${team.body.id}`]) {
    assert.equal(await statusOf(path), 404);
  }
  assert.equal(await statusOf(`/api/agents/${agent.id}`), 404);
  assert.deepEqual(await service.introspect(accessToken), { active: false, reason: 'agent_inactive' });
  assert.equal((await service.introspect(refreshToken)).active, false);
  assertError(await remove(id), 404, 'not_found');
});

test('DELETE /api/organizations/:id 204: leaves other organizations and agents alone', async () => {
  const [id, other] = [await newOrganization('goes'), await newOrganization('stays')];
  const [owned] = await newAgents(1, { organization_id: other });
  const free = await service.createAgent();
  await remove(id);
  assert.equal(await statusOf(`/api/organizations/${other}`), 200);
  for (const agent of [owned, free]) {
    assert.ok(agent);
    assert.equal((await service.introspect((await service.tokens(agent)).accessToken)).active, true);
  }
});

test('DELETE /api/organizations/:id 204: each of 205 agents goes with one event of its own', async () => {
  const id = await newOrganization('crowded');
  const agents = await newAgents(205, { organization_id: id });
  const subscriber = await subscribe(service, 'agent.deleted');
  const events = await subscriber.eventsOf(() => remove(id));
  assert.deepEqual(events.map(({ data }) => data['agent_id']).sort(), agents.map((agent) => agent.id).sort());
  const told = new Set(
    events.map(({ type, data }) => `${type} ${data['organization_id']} ${data['deleted_by']}`),
  );
  assert.deepEqual([...told], [`agent.deleted ${id} administrator`]);
  assert.equal(await statusOf(`/api/organizations/${id}`), 404);
  const left = await service.call('GET', `/api/agents?organization_id=${id}`, { admin: true });
  assert.deepEqual(left.body.agents, []);
});

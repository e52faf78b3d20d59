import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  deleteAgent,
  detachFromTeam,
  findAgent,
  insertAgent,
  listAgents,
  touchActivity,
  updateAgent,
} from '../../src/agents/agents.store.ts';
import { insertRotation, listRotations } from '../../src/agents/secrets.store.ts';
import { UniqueViolation } from '../../src/db/database.ts';
import { insertOrganization } from '../../src/organizations/organizations.store.ts';
import { insertTeam } from '../../src/organizations/teams.store.ts';
import { onEachDatabase } from './databases.ts';
import { anAgent, anOrganization, aTeam, ids, NOW, storeAgent } from './rows.ts';

const PAGE = { limit: 1000, cursor: null };

onEachDatabase((opened) => {
  async function storeTeam() {
    const organization = anOrganization();
    const team = aTeam(organization.id);
    await opened().database.transaction(async (tx) => {
      await insertOrganization(tx, organization);
      await insertTeam(tx, team);
    });
    return { organizationId: organization.id, teamId: team.id };
  }

  test('an agent is read as it was inserted, every member of it', async () => {
    const { database } = opened();
    const place = await storeTeam();
    const agents = [
      anAgent({
        ...place,
        expiresAt: NOW + 5,
        tokenCount: 2 ** 40,
        refreshCount: 3,
        lastActivityAt: NOW - 1,
      }),
      anAgent({ isActive: false, scopes: ['admin'], name: 'Ünïcode 🦊 "quoted" %_\\' }),
    ];
    for (const agent of agents) {
      await database.transaction((tx) => insertAgent(tx, agent));
      assert.deepEqual(await findAgent(database.reader, agent.id), agent);
    }
  });

  test('an agent that is not there is null', async () => {
    assert.equal(await findAgent(opened().database.reader, ids.newId('agent')), null);
  });

  test('a client_id is taken once', async () => {
    const { database } = opened();
    const { clientId } = await storeAgent(database);
    const second = anAgent({ clientId });
    await assert.rejects(
      database.transaction((tx) => insertAgent(tx, second)),
      UniqueViolation,
    );
    assert.equal(await findAgent(database.reader, second.id), null);
  });

  test('agents are listed newest first, one more than the page holds, from the cursor on', async () => {
    const { database } = opened();
    const { organizationId } = await storeTeam();
    const stored = [];
    for (let count = 0; count < 4; count++) stored.push(await storeAgent(database, { organizationId }));
    const newestFirst = stored.map((agent) => agent.id).reverse();
    const first = await listAgents(database.reader, { organizationId }, { limit: 2, cursor: null });
    assert.deepEqual(
      first.map((agent) => agent.id),
      newestFirst.slice(0, 3),
    );
    const cursor = newestFirst[1] as string;
    const second = await listAgents(database.reader, { organizationId }, { limit: 2, cursor });
    assert.deepEqual(
      second.map((agent) => agent.id),
      newestFirst.slice(2),
    );
  });

  test('each filter of the agents list keeps what it names, and all of them hold together', async () => {
    const { database } = opened();
    const place = await storeTeam();
    const inTeam = await storeAgent(database, { ...place, name: 'Invoice Importer' });
    const inactive = await storeAgent(database, {
      organizationId: place.organizationId,
      isActive: false,
      name: 'invoice exporter',
    });
    const found = async (filter: Parameters<typeof listAgents>[1]) =>
      (await listAgents(database.reader, filter, PAGE)).map((agent) => agent.id);
    const { organizationId, teamId } = place;
    assert.deepEqual(await found({ organizationId }), [inactive.id, inTeam.id]);
    assert.deepEqual(await found({ teamId }), [inTeam.id]);
    assert.deepEqual(await found({ organizationId, isActive: false }), [inactive.id]);
    assert.deepEqual(await found({ organizationId, isActive: true }), [inTeam.id]);
    assert.deepEqual(await found({ organizationId, search: 'INVOICE' }), [inactive.id, inTeam.id]);
    assert.deepEqual(await found({ organizationId, search: 'ice imp' }), [inTeam.id]);
    assert.deepEqual(await found({ search: inTeam.clientId }), [inTeam.id]);
    assert.deepEqual(await found({ organizationId, search: inTeam.clientId.slice(0, -1) }), []);
    assert.deepEqual(await found({ organizationId, isActive: true, search: 'exporter' }), []);
  });

  test('the wildcards of LIKE are plain characters in a search', async () => {
    const { database } = opened();
    const { organizationId } = await storeTeam();
    const odd = await storeAgent(database, { organizationId, name: '100%_\\done' });
    await storeAgent(database, { organizationId, name: '100 percent' });
    for (const search of ['0%', '%_', '\\d', '_']) {
      const found = await listAgents(database.reader, { organizationId, search }, PAGE);
      assert.deepEqual(
        found.map((agent) => agent.id),
        [odd.id],
        search,
      );
    }
  });

  test('an update writes what may change, leaves the counters alone and touches no other agent', async () => {
    const { database } = opened();
    const place = await storeTeam();
    const agent = await storeAgent(database, { ...place, tokenCount: 7 });
    const other = await storeAgent(database);
    const changed = { ...agent, name: 'new', scopes: ['read'], isActive: false, teamId: null };
    await database.transaction((tx) =>
      updateAgent(tx, { ...changed, expiresAt: NOW, tokenEpoch: 1, tokenCount: 0, createdAt: 1 }),
    );
    assert.deepEqual(await findAgent(database.reader, agent.id), {
      ...changed,
      expiresAt: NOW,
      tokenEpoch: 1,
    });
    assert.deepEqual(await findAgent(database.reader, other.id), other);
  });

  test('a deleted agent is gone with its rotation history, and nobody else is', async () => {
    const { database } = opened();
    const [agent, other] = [await storeAgent(database), await storeAgent(database)];
    await database.transaction((tx) => insertRotation(tx, agent.id, NOW));
    await database.transaction((tx) => deleteAgent(tx, agent.id));
    assert.equal(await findAgent(database.reader, agent.id), null);
    assert.deepEqual(await listRotations(database.reader, agent.id), []);
    assert.deepEqual(await findAgent(database.reader, other.id), other);
  });

  test('detaching from a team leaves its agents in their organization', async () => {
    const { database } = opened();
    const place = await storeTeam();
    const agent = await storeAgent(database, place);
    await database.transaction((tx) => detachFromTeam(tx, place.teamId));
    assert.deepEqual(await findAgent(database.reader, agent.id), { ...agent, teamId: null });
  });

  test('activity is noted where there is none or an old one, not where it is recent', async () => {
    const { database } = opened();
    const agent = await storeAgent(database);
    const touch = async (now: number) => {
      await database.transaction((tx) => touchActivity(tx, { agentId: agent.id, now, notSince: now - 10 }));
      return (await findAgent(database.reader, agent.id))?.lastActivityAt;
    };
    assert.equal(await touch(NOW), NOW);
    assert.equal(await touch(NOW + 9), NOW);
    assert.equal(await touch(NOW + 10), NOW + 10);
  });
});

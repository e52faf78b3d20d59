import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UniqueViolation } from '../../src/db/database.ts';
import {
  deleteOrganization,
  findOrganization,
  insertOrganization,
  listOrganizations,
  updateOrganization,
} from '../../src/organizations/organizations.store.ts';
import {
  deleteTeam,
  findTeam,
  insertTeam,
  listTeams,
  updateTeam,
} from '../../src/organizations/teams.store.ts';
import { onEachDatabase } from './databases.ts';
import { anOrganization, aTeam, ids } from './rows.ts';

const PAGE = { limit: 1000, cursor: null };

onEachDatabase((opened) => {
  async function storeOrganization(changes: Parameters<typeof anOrganization>[0] = {}) {
    const organization = anOrganization(changes);
    await opened().database.transaction((tx) => insertOrganization(tx, organization));
    return organization;
  }

  async function storeTeam(organizationId: string) {
    const team = aTeam(organizationId);
    await opened().database.transaction((tx) => insertTeam(tx, team));
    return team;
  }

  test('an organization is read as it was inserted; an unknown one is null', async () => {
    const { reader } = opened().database;
    const organization = await storeOrganization({ jwtExpirySeconds: 60 });
    assert.deepEqual(await findOrganization(reader, organization.id), organization);
    assert.equal(await findOrganization(reader, ids.newId('org')), null);
  });

  test('a slug is taken once', async () => {
    const { slug } = await storeOrganization();
    await assert.rejects(storeOrganization({ slug }), UniqueViolation);
  });

  test('organizations are listed newest first, one more than the page holds, from the cursor on', async () => {
    const { reader } = opened().database;
    const stored = [await storeOrganization(), await storeOrganization(), await storeOrganization()];
    const newestFirst = stored.map((organization) => organization.id).reverse();
    const listed = async (cursor: string | null) =>
      (await listOrganizations(reader, { limit: 1, cursor })).map((organization) => organization.id);
    assert.deepEqual(await listed(null), newestFirst.slice(0, 2));
    assert.deepEqual(await listed(newestFirst[0] as string), newestFirst.slice(1, 3));
  });

  test('an organization’s update writes its name and token lifetime alone', async () => {
    const { database } = opened();
    const [organization, other] = [await storeOrganization(), await storeOrganization()];
    const changed = { ...organization, name: 'New', jwtExpirySeconds: 30 };
    await database.transaction((tx) => updateOrganization(tx, { ...changed, slug: 'ignored', plan: 'x' }));
    assert.deepEqual(await findOrganization(database.reader, organization.id), changed);
    assert.deepEqual(await findOrganization(database.reader, other.id), other);
  });

  test('an organization with teams cannot be deleted before them', async () => {
    const { database } = opened();
    const [organization, other] = [await storeOrganization(), await storeOrganization()];
    const team = await storeTeam(organization.id);
    const kept = await storeTeam(other.id);
    const remove = () => database.transaction((tx) => deleteOrganization(tx, organization.id));
    await assert.rejects(remove());
    assert.deepEqual(await findOrganization(database.reader, organization.id), organization);
    await database.transaction((tx) => deleteTeam(tx, team.id));
    await remove();
    assert.equal(await findOrganization(database.reader, organization.id), null);
    assert.deepEqual(await listTeams(database.reader, other.id, PAGE), [kept]);
  });

  test('a team is found in its own organization and in no other', async () => {
    const { reader } = opened().database;
    const [organization, other] = [await storeOrganization(), await storeOrganization()];
    const team = await storeTeam(organization.id);
    assert.deepEqual(await findTeam(reader, { organizationId: organization.id, id: team.id }), team);
    assert.equal(await findTeam(reader, { organizationId: other.id, id: team.id }), null);
  });

  test('a team of an unknown organization is refused', async () => {
    await assert.rejects(storeTeam(ids.newId('org')));
  });

  test('teams are listed newest first, one more than the page holds, from the cursor on', async () => {
    const { reader } = opened().database;
    const { id } = await storeOrganization();
    await storeTeam((await storeOrganization()).id);
    const stored = [await storeTeam(id), await storeTeam(id), await storeTeam(id)].reverse();
    assert.deepEqual(await listTeams(reader, id, { limit: 1, cursor: null }), stored.slice(0, 2));
    const cursor = stored[1]?.id as string;
    assert.deepEqual(await listTeams(reader, id, { limit: 1, cursor }), stored.slice(2));
  });

  test('a team’s update and deletion concern that team alone', async () => {
    const { database } = opened();
    const { id } = await storeOrganization();
    const [kept, changed, deleted] = [await storeTeam(id), await storeTeam(id), await storeTeam(id)];
    const renamed = { ...changed, name: 'Ledger', description: '' };
    await database.transaction((tx) => updateTeam(tx, renamed));
    await database.transaction((tx) => deleteTeam(tx, deleted.id));
    assert.deepEqual(await listTeams(database.reader, id, PAGE), [renamed, kept]);
  });
});

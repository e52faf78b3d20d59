import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAgent } from '../../src/agents/agents.store.ts';
import { endSecrets, insertSecret, listLivingSecrets } from '../../src/agents/secrets.store.ts';
import type { NewGrant, PublishAll } from '../../src/oauth/tokens.store.ts';
import { insertOrganization } from '../../src/organizations/organizations.store.ts';
import { onEachDatabase } from './databases.ts';
import {
  aDigest,
  aGrant,
  anAgent,
  anIssue,
  anOrganization,
  aRefreshToken,
  ids,
  NOW,
  storeAgent,
  tellNobody,
  writeEvents,
} from './rows.ts';

onEachDatabase((opened) => {
  async function findClient(clientId: string, now = NOW) {
    return (await opened().tokensStore.findClients([{ clientId, now }]))[0] ?? null;
  }

  test('clients are answered in the order of the look-ups, null for an unknown one, twice for two', async () => {
    const { database, tokensStore } = opened();
    const [one, two] = [await storeAgent(database), await storeAgent(database)];
    const wanted = [two.clientId, ids.newId('cid'), one.clientId, two.clientId];
    const found = await tokensStore.findClients(wanted.map((clientId) => ({ clientId, now: NOW })));
    assert.deepEqual(
      found.map((client) => client?.agentId ?? null),
      [two.id, null, one.id, two.id],
    );
  });

  test('a client is its agent with its living secrets and its organization’s token lifetime', async () => {
    const { database } = opened();
    const organization = anOrganization({ jwtExpirySeconds: 60 });
    await database.transaction((tx) => insertOrganization(tx, organization));
    const agent = await storeAgent(database, {
      organizationId: organization.id,
      expiresAt: NOW + 5,
      isActive: false,
      tokenEpoch: 4,
    });
    const digest = aDigest();
    await database.transaction(async (tx) => {
      await endSecrets(tx, agent.id, NOW);
      await insertSecret(tx, { agentId: agent.id, digest, createdAt: NOW });
    });
    const client = await findClient(agent.clientId);
    const secretId = client?.secrets[0]?.id;
    assert.equal(typeof secretId, 'number');
    assert.deepEqual(client, {
      agentId: agent.id,
      clientId: agent.clientId,
      name: agent.name,
      scopes: agent.scopes,
      isActive: false,
      expiresAt: NOW + 5,
      tokenEpoch: 4,
      organizationId: organization.id,
      teamId: null,
      jwtExpirySeconds: 60,
      secrets: [{ id: secretId, digest, expiresAt: null, lastUsedAt: null }],
    });
    assert.equal((await findClient(agent.clientId, NOW - 1))?.secrets.length, 2);
  });

  test('a batch with several tokens of one agent counts each of them, and each agent its own', async () => {
    const { database, tokensStore } = opened();
    const [busy, quiet] = [await storeAgent(database), await storeAgent(database)];
    const grants = [
      aGrant(busy.id),
      aGrant(quiet.id),
      aGrant(busy.id, { now: NOW + 3 }),
      aGrant(busy.id, { now: NOW + 3 }),
    ];
    assert.deepEqual(await tokensStore.issue(grants, tellNobody), Array(4).fill({ refreshTokenId: null }));
    const counted = async (id: string) => {
      const agent = await findAgent(database.reader, id);
      return [agent?.tokenCount, agent?.refreshCount, agent?.lastActivityAt];
    };
    assert.deepEqual(await counted(busy.id), [3, 0, NOW + 3]);
    assert.deepEqual(await counted(quiet.id), [1, 0, NOW]);
  });

  test('an agent that has gone gets null and nothing is stored for it; the rest of the batch is issued', async () => {
    const { database, tokensStore } = opened();
    const agent = await storeAgent(database);
    const grantId = ids.newSortable();
    const told: string[] = [];
    const tell: PublishAll = async (_, happenings) => {
      told.push(...happenings.map(({ data }) => ('token_id' in data ? String(data.token_id) : '')));
    };
    const [gone, issued] = await tokensStore.issue(
      [
        aGrant(ids.newId('agent'), { refreshToken: aRefreshToken({ grantId }), happening: anIssue('gone') }),
        aGrant(agent.id, { refreshToken: aRefreshToken(), happening: anIssue('issued') }),
      ],
      tell,
    );
    assert.equal(gone, null);
    assert.equal(typeof issued?.refreshTokenId, 'number');
    assert.deepEqual(told, ['issued']);
    const stored = await database.reader
      .selectFrom('refresh_tokens')
      .select('id')
      .where('grant_id', '=', grantId)
      .execute();
    assert.deepEqual(stored, []);
  });

  test('the use of a secret is noted for it, and for no other, and stays with it when it is replaced', async () => {
    const { database, tokensStore } = opened();
    const agent = await storeAgent(database);
    const use = (usedSecret: NewGrant['usedSecret'], now: number) =>
      tokensStore.issue([aGrant(agent.id, { usedSecret, now }), aGrant(agent.id, { now })], tellNobody);
    const lastUses = async () =>
      (await listLivingSecrets(database.reader, agent.id, NOW)).map((secret) => secret.lastUsedAt);
    const [newest = assert.fail()] = (await findClient(agent.clientId))?.secrets ?? [];
    await use({ id: newest.id, isNewest: true }, NOW + 7);
    assert.deepEqual(await lastUses(), [NOW + 7]);
    await database.transaction(async (tx) => {
      await endSecrets(tx, agent.id, NOW + 1000);
      await insertSecret(tx, { agentId: agent.id, digest: aDigest(), createdAt: NOW });
    });
    assert.deepEqual(await lastUses(), [null, NOW + 7]);
    const [older, newer = assert.fail()] = (await findClient(agent.clientId))?.secrets ?? [];
    assert.deepEqual([older?.id, older?.expiresAt, older?.lastUsedAt], [newest.id, NOW + 1000, NOW + 7]);
    await use({ id: newest.id, isNewest: false }, NOW + 9);
    assert.deepEqual(await lastUses(), [null, NOW + 9]);
    // It was the newest when the client authenticated, and is not any more.
    await use({ id: newest.id, isNewest: true }, NOW + 10);
    assert.deepEqual(await lastUses(), [null, NOW + 9]);
    await use({ id: newer.id, isNewest: true }, NOW + 11);
    assert.deepEqual(await lastUses(), [NOW + 11, NOW + 9]);
  });

  test('what a grant publishes is written with its token', async () => {
    const { database, tokensStore } = opened();
    const agent = await storeAgent(database);
    const event = { id: ids.newSortable(), type: 'token.issued', payload: '{}', created_at: NOW };
    await tokensStore.issue([aGrant(agent.id, { happening: anIssue(event.id) })], writeEvents);
    const written = await database.reader
      .selectFrom('events')
      .selectAll()
      .where('id', '=', event.id)
      .execute();
    assert.deepEqual(
      written.map((row) => ({ ...row })),
      [event],
    );
  });

  test('a publication that fails takes its whole batch back, counters and refresh tokens included', async () => {
    const { database, tokensStore } = opened();
    const agent = await storeAgent(database);
    const grantId = ids.newSortable();
    const grants = [
      aGrant(agent.id, { refreshToken: aRefreshToken({ grantId }) }),
      aGrant(agent.id, { happening: anIssue('x') }),
    ];
    const refuse = () => Promise.reject(new Error('no event'));
    await assert.rejects(tokensStore.issue(grants, refuse), /no event/);
    assert.equal((await findAgent(database.reader, agent.id))?.tokenCount, 0);
    const stored = await database.reader
      .selectFrom('refresh_tokens')
      .select('id')
      .where('grant_id', '=', grantId)
      .execute();
    assert.deepEqual(stored, []);
  });

  test('an agent that nobody stored is no client', async () => {
    assert.equal(await findClient(anAgent().clientId), null);
  });
});

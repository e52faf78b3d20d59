import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteAgent, findAgent } from '../../src/agents/agents.store.ts';
import { endSecrets } from '../../src/agents/secrets.store.ts';
import type { NewRefreshToken } from '../../src/oauth/tokens.store.ts';
import { onEachDatabase } from './databases.ts';
import {
  aClaim,
  aGrant,
  anIssue,
  aRefreshToken,
  ids,
  NOW,
  storeAgent,
  tellNobody,
  writeEvents,
} from './rows.ts';

onEachDatabase((opened) => {
  /** A refresh token in the database, of a new agent unless one is given. */
  async function storeRefreshToken(given: { agentId?: string; changes?: Partial<NewRefreshToken> } = {}) {
    const { database, tokensStore } = opened();
    const agentId = given.agentId ?? (await storeAgent(database)).id;
    const secret = await database.reader
      .selectFrom('client_secrets')
      .select('id')
      .where('agent_id', '=', agentId)
      .executeTakeFirstOrThrow();
    const token = aRefreshToken({ clientSecretId: secret.id, ...given.changes });
    const [issued] = await tokensStore.issue([aGrant(agentId, { refreshToken: token })], tellNobody);
    return { agentId, token, id: issued?.refreshTokenId as number };
  }

  const find = async (id: number) => (await opened().tokensStore.findRefreshTokens([id]))[0] ?? null;

  test('a refresh token is found as it was issued, with its agent; an unknown one is null', async () => {
    const { agentId, token, id } = await storeRefreshToken({
      changes: { tokenEpoch: 3, scopes: ['a', 'b'] },
    });
    const stored = await find(id);
    assert.equal(stored?.client?.agentId, agentId);
    assert.deepEqual(
      { ...stored, client: null },
      {
        ...token,
        id,
        issuedAt: NOW,
        usedAt: null,
        secretExpiresAt: null,
        isGrantRevoked: false,
        client: null,
      },
    );
    assert.equal(await find(id + 1_000_000), null);
  });

  test('refresh tokens are answered in the order of the look-ups', async () => {
    const [one, two] = [await storeRefreshToken(), await storeRefreshToken()];
    const found = await opened().tokensStore.findRefreshTokens([two.id, 9_999_999, one.id]);
    assert.deepEqual(
      found.map((token) => token?.id ?? null),
      [two.id, null, one.id],
    );
  });

  test('a refresh token shows the end of its secret, the loss of its agent and the end of its grant', async () => {
    const { database, tokensStore } = opened();
    const { agentId, token, id } = await storeRefreshToken();
    await database.transaction((tx) => endSecrets(tx, agentId, NOW + 9));
    assert.equal((await find(id))?.secretExpiresAt, NOW + 9);
    await tokensStore.revoke([{ id: token.grantId, expiresAt: NOW }]);
    assert.equal((await find(id))?.isGrantRevoked, true);
    await database.transaction((tx) => deleteAgent(tx, agentId));
    assert.equal((await find(id))?.client, null);
  });

  test('a claim marks its token as used and stores the successor', async () => {
    const claimed = await storeRefreshToken();
    const claim = aClaim(claimed, { now: NOW + 5 });
    const [outcome] = await opened().tokensStore.refresh([claim], tellNobody);
    assert.equal(outcome?.status, 'refreshed');
    assert.equal((await find(claimed.id))?.usedAt, NOW + 5);
    const successor = outcome?.status === 'refreshed' ? await find(outcome.refreshTokenId) : null;
    assert.equal(successor?.digest, claim.successor.digest);
    assert.equal(successor?.sequence, 1);
    assert.deepEqual([successor?.usedAt, successor?.issuedAt], [null, NOW + 5]);
  });

  test('of two claims of one refresh token in one batch the first wins, and the grant ends', async () => {
    const { database, tokensStore } = opened();
    const claimed = await storeRefreshToken();
    const outcomes = await tokensStore.refresh([aClaim(claimed), aClaim(claimed)], tellNobody);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status),
      ['refreshed', 'reused'],
    );
    assert.equal((await find(claimed.id))?.isGrantRevoked, true);
    const agent = await findAgent(database.reader, claimed.agentId);
    assert.deepEqual([agent?.tokenCount, agent?.refreshCount], [2, 1]);
  });

  test('of many simultaneous claims in batches of their own exactly one wins', async () => {
    const { tokensStore } = opened();
    const claimed = await storeRefreshToken();
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, () => tokensStore.refresh([aClaim(claimed)], tellNobody)),
    );
    assert.equal(outcomes.filter(([outcome]) => outcome?.status === 'refreshed').length, 1);
  });

  test('a reused refresh token ends its grant until it is remembered no longer, and no other grant', async () => {
    const { database, tokensStore } = opened();
    const claimed = await storeRefreshToken();
    const other = await storeRefreshToken({ agentId: claimed.agentId });
    await tokensStore.refresh([aClaim(claimed)], tellNobody);
    await tokensStore.refresh([aClaim(claimed, { rememberUntil: NOW + 77 })], tellNobody);
    const revoked = await database.reader
      .selectFrom('revoked_tokens')
      .selectAll()
      .where('id', 'in', [claimed.token.grantId, other.token.grantId])
      .execute();
    assert.deepEqual(
      revoked.map((row) => [row.id, row.expires_at]),
      [[claimed.token.grantId, NOW + 77]],
    );
  });

  test('refreshes of one agent in one batch are counted together, lost claims not at all', async () => {
    const { database, tokensStore } = opened();
    const one = await storeRefreshToken();
    const two = await storeRefreshToken({ agentId: one.agentId });
    await tokensStore.refresh(
      [aClaim(one), aClaim(two, { now: NOW + 1 }), aClaim(one, { now: NOW + 2 })],
      tellNobody,
    );
    const agent = await findAgent(database.reader, one.agentId);
    assert.deepEqual([agent?.tokenCount, agent?.refreshCount, agent?.lastActivityAt], [4, 2, NOW + 1]);
  });

  test('what a claim publishes is written where it wins, and not where it loses', async () => {
    const { database, tokensStore } = opened();
    const claimed = await storeRefreshToken();
    const published = [ids.newId('evt'), ids.newId('evt')];
    const claims = published.map((id) => aClaim(claimed, { happening: anIssue(id) }));
    await tokensStore.refresh(claims, writeEvents);
    const events = await database.reader
      .selectFrom('events')
      .select('id')
      .where('id', 'in', published)
      .execute();
    assert.deepEqual(
      events.map((event) => event.id),
      [published[0]],
    );
  });

  test('a claim whose batch fails has not been used up', async () => {
    const { tokensStore } = opened();
    const claimed = await storeRefreshToken();
    const refuse = () => Promise.reject(new Error('no event'));
    const claim = aClaim(claimed, { happening: anIssue('x') });
    await assert.rejects(tokensStore.refresh([claim], refuse), /no event/);
    assert.equal((await find(claimed.id))?.usedAt, null);
    const [outcome] = await tokensStore.refresh([aClaim(claimed)], tellNobody);
    assert.equal(outcome?.status, 'refreshed');
  });
});

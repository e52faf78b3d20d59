import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onEachDatabase } from './databases.ts';
import { ids, NOW, storeAgent, tellNobody } from './rows.ts';

onEachDatabase((opened) => {
  test('the state of a token is its agent now, and whether it or its grant was revoked', async () => {
    const { database, tokensStore } = opened();
    const agent = await storeAgent(database, { isActive: false, tokenEpoch: 2 });
    const lookup = { agentId: agent.id, tokenId: ids.newSortable(), grantId: ids.newSortable() };
    const stranger = { ...lookup, agentId: ids.newId('agent') };
    const other = { agentId: agent.id, tokenId: ids.newSortable(), grantId: ids.newSortable() };
    const states = async () =>
      (await tokensStore.findTokenStates([lookup, stranger, other])).map((state) => [
        state.agent?.agentId ?? null,
        state.isRevoked,
      ]);
    assert.deepEqual(await states(), [
      [agent.id, false],
      [null, false],
      [agent.id, false],
    ]);
    await tokensStore.revoke([
      { id: lookup.tokenId, expiresAt: NOW },
      { id: other.grantId, expiresAt: NOW },
    ]);
    assert.deepEqual(await states(), [
      [agent.id, true],
      [null, true],
      [agent.id, true],
    ]);
    const [state] = await tokensStore.findTokenStates([lookup]);
    assert.deepEqual([state?.agent?.isActive, state?.agent?.tokenEpoch], [false, 2]);
  });

  test('a revocation is new once, also within one batch', async () => {
    const { tokensStore } = opened();
    const [one, two] = [ids.newSortable(), ids.newSortable()];
    const revoke = (...revoked: string[]) =>
      tokensStore.revoke(revoked.map((id) => ({ id, expiresAt: NOW })));
    assert.deepEqual(await revoke(one, two, one), [true, true, false]);
    assert.deepEqual(await revoke(two), [false]);
  });

  test('an empty batch is answered with nothing', async () => {
    const { tokensStore } = opened();
    assert.deepEqual(await tokensStore.findClients([]), []);
    assert.deepEqual(await tokensStore.findRefreshTokens([]), []);
    assert.deepEqual(await tokensStore.issue([], tellNobody), []);
    assert.deepEqual(await tokensStore.refresh([], tellNobody), []);
    assert.deepEqual(await tokensStore.findTokenStates([]), []);
    assert.deepEqual(await tokensStore.revoke([]), []);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  endSecrets,
  insertRotation,
  insertSecret,
  listLivingSecrets,
  listRotations,
} from '../../src/agents/secrets.store.ts';
import { onEachDatabase } from './databases.ts';
import { aDigest, NOW, storeAgent } from './rows.ts';

onEachDatabase((opened) => {
  test('living secrets are listed newest first, and only those of the agent', async () => {
    const { database } = opened();
    const agent = await storeAgent(database);
    await storeAgent(database);
    await database.transaction((tx) =>
      insertSecret(tx, { agentId: agent.id, digest: aDigest(), createdAt: NOW + 5 }),
    );
    assert.deepEqual(await listLivingSecrets(database.reader, agent.id, NOW), [
      { createdAt: NOW + 5, expiresAt: null, lastUsedAt: null },
      { createdAt: NOW, expiresAt: null, lastUsedAt: null },
    ]);
  });

  test('a secret lives until its end and not in the millisecond of it', async () => {
    const { database } = opened();
    const agent = await storeAgent(database);
    await database.transaction((tx) => endSecrets(tx, agent.id, NOW + 100));
    assert.equal((await listLivingSecrets(database.reader, agent.id, NOW + 99)).length, 1);
    assert.equal((await listLivingSecrets(database.reader, agent.id, NOW + 100)).length, 0);
  });

  test('ending secrets shortens a life and never lengthens one', async () => {
    const { database } = opened();
    const agent = await storeAgent(database);
    const end = async (endsAt: number) => {
      await database.transaction((tx) => endSecrets(tx, agent.id, endsAt));
      return (await listLivingSecrets(database.reader, agent.id, NOW))[0]?.expiresAt;
    };
    assert.equal(await end(NOW + 100), NOW + 100);
    assert.equal(await end(NOW + 200), NOW + 100);
    assert.equal(await end(NOW + 50), NOW + 50);
  });

  test('ending the secrets of one agent ends nobody else’s', async () => {
    const { database } = opened();
    const [agent, other] = [await storeAgent(database), await storeAgent(database)];
    await database.transaction((tx) => endSecrets(tx, agent.id, NOW));
    assert.equal((await listLivingSecrets(database.reader, other.id, NOW)).length, 1);
  });

  test('the rotation history is newest first and holds the latest hundred', async () => {
    const { database } = opened();
    const agent = await storeAgent(database);
    await database.transaction(async (tx) => {
      for (let count = 0; count < 101; count++) await insertRotation(tx, agent.id, NOW + count);
    });
    const history = await listRotations(database.reader, agent.id);
    assert.deepEqual(
      history,
      Array.from({ length: 100 }, (_, index) => NOW + 100 - index),
    );
  });
});

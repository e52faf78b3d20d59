import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UniqueViolation } from '../../src/db/database.ts';
import {
  activateNextKey,
  insertKey,
  listKeys,
  removeRetiredKeys,
  retireActiveKey,
} from '../../src/keys/keys.store.ts';
import type { SigningKey } from '../../src/keys/signing-key.ts';
import { onEachDatabase } from './databases.ts';
import { NOW } from './rows.ts';

function aKey(kid: string, status: 'active' | 'next', createdAt: number): SigningKey {
  return {
    kid,
    status,
    publicJwk: { kty: 'RSA', kid, use: 'sig', alg: 'RS256', n: 'modulus', e: 'AQAB' },
    sealedPrivateKey: `v1.${kid}`,
    createdAt,
    activatedAt: status === 'active' ? createdAt : null,
    retiredAt: null,
    removeAt: null,
  };
}

onEachDatabase((opened) => {
  const first = aKey('first', 'active', NOW);
  const second = aKey('second', 'next', NOW + 1);
  const third = aKey('third', 'next', NOW + 2);

  test('keys are read as they were inserted, newest first', async () => {
    const { database } = opened();
    await database.transaction(async (tx) => {
      await insertKey(tx, first);
      await insertKey(tx, second);
    });
    assert.deepEqual(await listKeys(database.reader), [second, first]);
  });

  test('there is never a second active or a second next key', async () => {
    const { database } = opened();
    for (const status of ['active', 'next'] as const) {
      await assert.rejects(
        database.transaction((tx) => insertKey(tx, aKey('extra', status, NOW))),
        UniqueViolation,
      );
    }
    assert.equal((await listKeys(database.reader)).length, 2);
  });

  test('a rotation retires the active key, activates the next one and takes a new next one', async () => {
    const { database } = opened();
    await database.transaction(async (tx) => {
      await retireActiveKey(tx, { retiredAt: NOW + 10, removeAt: NOW + 20 });
      await activateNextKey(tx, NOW + 10);
      await insertKey(tx, third);
    });
    assert.deepEqual(await listKeys(database.reader), [
      third,
      { ...second, status: 'active', activatedAt: NOW + 10 },
      { ...first, status: 'retiring', retiredAt: NOW + 10, removeAt: NOW + 20 },
    ]);
  });

  test('a retired key goes when its time has come, not before, and no other key goes', async () => {
    const { database } = opened();
    const left = async (now: number) => {
      await database.transaction((tx) => removeRetiredKeys(tx, now));
      return (await listKeys(database.reader)).map((key) => key.kid);
    };
    assert.deepEqual(await left(NOW + 19), ['third', 'second', 'first']);
    assert.deepEqual(await left(NOW + 20), ['third', 'second']);
  });
});

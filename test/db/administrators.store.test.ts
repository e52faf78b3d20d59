import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Administrator } from '../../src/admin/administrator.ts';
import { changeAdministrator, removeAdministrator } from '../../src/admin/administrators.service.ts';
import {
  deleteAdministrator,
  findAdministrator,
  findFirstAdministrator,
  insertAdministrator,
  listAdministrators,
  updateAdministrator,
} from '../../src/admin/administrators.store.ts';
import type { ApiKey } from '../../src/admin/api-key.ts';
import { findApiKey, insertApiKey, listApiKeys, touchApiKey } from '../../src/admin/api-keys.store.ts';
import { SERVICE } from '../../src/audit/actor.ts';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { systemClock } from '../../src/clock.ts';
import { UniqueViolation } from '../../src/db/database.ts';
import { newMasterKey } from '../keys/key-ring.ts';
import { onEachDatabase } from './databases.ts';
import { aDigest, ids, NOW } from './rows.ts';

onEachDatabase((opened) => {
  const anAdministrator = (email: string, changes: Partial<Administrator> = {}): Administrator => ({
    id: ids.newId('admin'),
    email,
    passwordHash: '$argon2id$…',
    role: 'owner',
    organizationId: null,
    createdAt: NOW,
    ...changes,
  });
  const insert = (administrator: Administrator) =>
    opened().database.transaction((tx) => insertAdministrator(tx, administrator));
  const list = () => listAdministrators(opened().database.reader);
  const first = anAdministrator('first@signet.test');

  test('without an administrator there is no first one', async () => {
    assert.equal(await findFirstAdministrator(opened().database.reader), null);
  });

  test('an administrator is found by the e-mail address in any case and by the id, nobody by another one', async () => {
    const { reader } = opened().database;
    await insert(first);
    assert.deepEqual(await findAdministrator(reader, { email: 'First@Signet.TEST' }), first);
    assert.deepEqual(await findAdministrator(reader, { id: first.id }), first);
    assert.equal(await findAdministrator(reader, { email: 'firs_@signet.test' }), null);
  });

  test('the first administrator is the one that was made first', async () => {
    await insert(anAdministrator('a@signet.test', { role: 'viewer' }));
    assert.equal(await findFirstAdministrator(opened().database.reader), first.email);
  });

  test('an e-mail address is taken once', async () => {
    await assert.rejects(insert(anAdministrator(first.email)), UniqueViolation);
  });

  test('administrators are listed in the order in which they were made', async () => {
    const found = (await list()).map(({ email, role }) => [email, role]);
    assert.deepEqual(found, [
      ['first@signet.test', 'owner'],
      ['a@signet.test', 'viewer'],
    ]);
  });

  test('a change is that of one administrator alone', async () => {
    const [, second] = await list();
    const changed = { ...(second as Administrator), passwordHash: 'changed', role: 'operator' as const };
    await opened().database.transaction((tx) => updateAdministrator(tx, changed));
    assert.deepEqual(await list(), [first, changed]);
  });

  test('a key is found by its digest, its use is noted once in a step, and it goes with its administrator', async () => {
    const { database } = opened();
    const administrator = anAdministrator('keys@signet.test');
    const key: ApiKey = {
      id: ids.newId('key'),
      administratorId: administrator.id,
      name: 'script',
      prefix: 'sk_abcdef',
      role: 'viewer',
      expiresAt: NOW + 1,
      lastUsedAt: null,
      createdAt: NOW,
    };
    const digest = aDigest();
    await insert(administrator);
    await database.transaction((tx) => insertApiKey(tx, key, digest));
    assert.deepEqual(await findApiKey(database.reader, digest), { key, administrator });
    assert.equal(await findApiKey(database.reader, aDigest()), null);
    for (const now of [NOW, NOW + 59_000, NOW + 61_000]) {
      const use = { id: key.id, now, notSince: now - 60_000 };
      await database.transaction((tx) => touchApiKey(tx, use));
    }
    assert.equal((await findApiKey(database.reader, digest))?.key.lastUsedAt, NOW + 61_000);
    await database.transaction((tx) => deleteAdministrator(tx, administrator.id));
    assert.equal(await findApiKey(database.reader, digest), null);
    const page = { limit: 10, cursor: null };
    assert.deepEqual(await listApiKeys(database.reader, administrator.id, page), []);
  });

  test('of two owners who are demoted or removed at once, one stays, each time', async () => {
    const { database } = opened();
    const audit = new AuditLog({ clock: systemClock, masterKey: newMasterKey() });
    for (let round = 0; round < 15; round++) {
      const second = anAdministrator(`second${round}@signet.test`);
      await insert(second);
      const change = (ref: { id: string }) =>
        round % 2 === 0
          ? changeAdministrator({ database, audit }, ref, { role: 'operator' }, SERVICE)
          : removeAdministrator({ database, audit }, ref, SERVICE);
      const owners = (await list()).filter(({ role }) => role === 'owner');
      assert.equal(owners.length, 2);
      const outcomes = await Promise.allSettled(owners.map(({ id }) => change({ id })));
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
      assert.equal(refused.length, 1);
      assert.match(String(refused[0]?.reason), /is the last owner/);
      assert.equal((await list()).filter(({ role }) => role === 'owner').length, 1);
    }
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  deleteAdministrator,
  findAdministrator,
  findFirstAdministrator,
  insertAdministrator,
  listAdministrators,
  updatePasswordHash,
} from '../../src/admin/administrators.store.ts';
import { UniqueViolation } from '../../src/db/database.ts';
import { onEachDatabase } from './databases.ts';
import { ids, NOW } from './rows.ts';

onEachDatabase((opened) => {
  const anAdministrator = (email: string) => ({
    id: ids.newId('admin'),
    email,
    passwordHash: '$argon2id$…',
    createdAt: NOW,
  });
  const first = anAdministrator('first@signet.test');

  test('without an administrator there is no first one', async () => {
    assert.equal(await findFirstAdministrator(opened().database.reader), null);
  });

  test('an administrator is found by the e-mail address in any case, nobody by another one', async () => {
    const { database } = opened();
    await database.transaction((tx) => insertAdministrator(tx, first));
    assert.deepEqual(await findAdministrator(database.reader, 'First@Signet.TEST'), first);
    assert.equal(await findAdministrator(database.reader, 'firs_@signet.test'), null);
  });

  test('the first administrator is the one that was made first', async () => {
    const { database } = opened();
    await database.transaction((tx) => insertAdministrator(tx, anAdministrator('a@signet.test')));
    assert.equal(await findFirstAdministrator(database.reader), first.email);
  });

  test('an e-mail address is taken once', async () => {
    await assert.rejects(
      opened().database.transaction((tx) => insertAdministrator(tx, anAdministrator(first.email))),
      UniqueViolation,
    );
  });

  test('administrators are listed in the order in which they were made', async () => {
    const emails = (await listAdministrators(opened().database.reader)).map(({ email }) => email);
    assert.deepEqual(emails, ['first@signet.test', 'a@signet.test']);
  });

  test('a new password hash is that of one administrator alone, found in any case of the letters', async () => {
    const { database } = opened();
    const change = (email: string) => database.transaction((tx) => updatePasswordHash(tx, email, 'changed'));
    assert.deepEqual([await change('A@signet.test'), await change('nobody@signet.test')], [true, false]);
    const hashes = (await listAdministrators(database.reader)).map(({ passwordHash }) => passwordHash);
    assert.deepEqual(hashes, ['$argon2id$…', 'changed']);
  });

  test('a deleted administrator is gone, the others stay', async () => {
    const { database } = opened();
    await database.transaction((tx) => deleteAdministrator(tx, first.id));
    const emails = (await listAdministrators(database.reader)).map(({ email }) => email);
    assert.deepEqual(emails, ['a@signet.test']);
  });
});

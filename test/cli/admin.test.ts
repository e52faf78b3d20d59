import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { addAdministrator, removeAdministrator } from '../../src/admin/administrators.service.ts';
import { listAdministrators } from '../../src/admin/administrators.store.ts';
import { SERVICE } from '../../src/audit/actor.ts';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { systemClock } from '../../src/clock.ts';
import { toConfig } from '../../src/config.ts';
import { createIds } from '../../src/ids.ts';
import { openDatabase } from '../../src/open-database.ts';
import { childFolder, runChild } from '../child.ts';
import { currentDatabase } from '../databases.ts';
import { ADMIN, send, startService, type TestService } from '../harness.ts';
import { newMasterKey } from '../keys/key-ring.ts';
import { assertFails, envBeside, envIn, signet, signetJson, signetReading } from './signet.ts';

let service: TestService;
let env: Record<string, string>;
before(async () => {
  service = await startService();
  env = envBeside(service);
});
after(() => service.stop());

const status = async (email: string, password: string): Promise<number> =>
  (await send(service.url, 'GET', '/api/agents', { admin: { email, password } })).status;

const withInput = (input: string, ...given: string[]) =>
  signetReading({ stdin: Readable.from([Buffer.from(input)]) }, env, given);

test('admin add: the new administrator manages the running service, and so does the first one still', async () => {
  const folder = childFolder();
  try {
    const password = 'pässwörd: with spaces ☃';
    const given = ['admin', 'add', 'Second@Signet.test', '--password-stdin'];
    const ended = await runChild({ folder, env, input: `${password}\n`, arguments: given });
    const stdout = 'Added second@signet.test, owner.\n';
    assert.deepEqual(ended, { code: 0, signal: null, stdout, stderr: '' });
    assert.equal(await status('second@signet.test', password), 200);
    assert.equal(await status(ADMIN.email, ADMIN.password), 200);
    assert.equal(await status('second@signet.test', ADMIN.password), 401);
  } finally {
    await folder.remove();
  }
});

test('admin add --generate prints a password that works, one time', async () => {
  const given = ['admin', 'add', 'third@signet.test', '--generate'];
  const { administrator, password } = await signetJson(env, ...given);
  assert.equal(await status(administrator.email, password), 200);
  const told = await signet(env, 'admin', 'password', 'third@signet.test', '--generate');
  const second = /Password +(\S+) +\(shown this once\)/.exec(told.stdout)?.[1] ?? '';
  assert.equal(await status('third@signet.test', second), 200);
  assert.equal((await signet(env, 'admin', 'list')).stdout.includes(second), false);
});

test('admin add refuses an address that is taken, in any case of its letters', () =>
  assertFails(env, ['admin', 'add', ADMIN.email.toUpperCase(), '--generate'], {
    code: 1,
    error: 'conflict',
    sentence: /There is an administrator admin@signet\.test already/,
  }));

test('admin password: the old password ends with the very next request, though it was right a moment ago', async () => {
  const email = 'changing@signet.test';
  await signetJson(env, 'admin', 'add', email, '--generate');
  let last = (await signetJson(env, 'admin', 'password', email, '--generate')).password;
  for (let round = 0; round < 3; round++) {
    assert.equal(await status(email, last), 200);
    const next = (await signetJson(env, 'admin', 'password', email, '--generate')).password;
    assert.deepEqual([await status(email, last), await status(email, next)], [401, 200]);
    last = next;
  }
});

test('admin password takes a line from standard input, and one without its line break', async () => {
  for (const [input, password] of [
    ['from-a-script\n', 'from-a-script'],
    ['from-windows\r\n', 'from-windows'],
    ['from printf ', 'from printf '],
  ] as const) {
    const { code } = await withInput(input, 'admin', 'password', ADMIN.email, '--password-stdin');
    assert.deepEqual([code, await status(ADMIN.email, password)], [0, 200]);
  }
  await withInput(ADMIN.password, 'admin', 'password', ADMIN.email, '--password-stdin');
});

test('a password that is too short or too long changes nothing', async () => {
  for (const input of ['', 'short', 'x'.repeat(1025)]) {
    const { code, stderr } = await withInput(input, 'admin', 'password', ADMIN.email, '--password-stdin');
    assert.deepEqual([code, stderr], [1, 'A password has 8 to 1024 characters.\n']);
  }
  assert.equal(await status(ADMIN.email, ADMIN.password), 200);
});

test('admin role: what an administrator may do changes with the next request', async () => {
  const email = 'viewing@signet.test';
  const given = ['admin', 'add', email, '--generate', '--role', 'viewer'];
  const { administrator, password } = await signetJson(env, ...given);
  assert.equal(administrator.role, 'viewer');
  const create = async () => {
    const options = { admin: { email, password }, json: { name: 'agent' } };
    return (await send(service.url, 'POST', '/api/agents', options)).status;
  };
  assert.deepEqual([await status(email, password), await create()], [200, 403]);
  const told = await signet(env, 'admin', 'role', email, 'operator');
  assert.deepEqual([told.stdout, await create()], [`Now ${email}, operator.\n`, 201]);
});

test('admin add --organization binds to an organization, which must be there', async () => {
  const json = { name: 'Acme', slug: 'acme', owner_email: 'owner@signet.test' };
  const { id } = (await send(service.url, 'POST', '/api/organizations', { admin: true, json })).body;
  const add = (organization: string) => [
    'admin',
    'add',
    'bound@signet.test',
    '--generate',
    '--role',
    'operator',
    '--organization',
    organization,
  ];
  await assertFails(env, add('org_x'), {
    code: 1,
    error: 'invalid_request',
    sentence: /no such organization/,
  });
  const { administrator, password } = await signetJson(env, ...add(id));
  assert.equal(administrator.organization_id, id);
  const options = { admin: { email: 'bound@signet.test', password } };
  assert.equal((await send(service.url, 'GET', '/api/webhooks', options)).status, 403);
});

test('admin list names all administrators in order, and no password', async () => {
  const { administrators } = await signetJson(env, 'admin', 'list');
  assert.equal(administrators[0].email, ADMIN.email);
  assert.equal(administrators[1].email, 'second@signet.test');
  assert.deepEqual(Object.keys(administrators[0]), ['id', 'email', 'role', 'organization_id', 'created_at']);
  const { stdout } = await signet(env, 'admin', 'list');
  assert.match(stdout, /^EMAIL +ROLE +ORGANIZATION +CREATED +ID\nadmin@signet\.test +owner +- +\d{4}-/);
});

test('admin bind and unbind: what an administrator sees changes with the next request, and the log says who did it', async () => {
  const json = { name: 'Bound', slug: 'bound', owner_email: 'owner@signet.test' };
  const { id } = (await send(service.url, 'POST', '/api/organizations', { admin: true, json })).body;
  const email = 'moving@signet.test';
  const given = ['admin', 'add', email, '--generate', '--role', 'operator'];
  const { password } = await signetJson(env, ...given);
  const webhooks = async () =>
    (await send(service.url, 'GET', '/api/webhooks', { admin: { email, password } })).status;
  assert.equal(await webhooks(), 200);
  const { stdout } = await signet(env, 'admin', 'bind', email, id);
  assert.deepEqual([stdout, await webhooks()], [`Now ${email}, operator of ${id}.\n`, 403]);
  const { administrator } = await signetJson(env, 'admin', 'unbind', email);
  assert.deepEqual([administrator.organization_id, await webhooks()], [null, 200]);

  const told = '/api/audit-log?action=administrator.changed&limit=2';
  const { entries } = (await send(service.url, 'GET', told, { admin: true })).body;
  assert.deepEqual(
    entries.map((entry: AuditEntry) => [
      entry.actor.kind,
      entry.target.name,
      entry.before.organization_id,
      entry.after.organization_id,
    ]),
    [
      ['command_line', email, id, null],
      ['command_line', email, null, id],
    ],
  );
  const unknown = { code: 1, error: 'invalid_request', sentence: /no such organization/ };
  await assertFails(env, ['admin', 'bind', email, 'org_x'], unknown);
  const nobody = { code: 1, error: 'not_found', sentence: /No such administrator/ };
  await assertFails(env, ['admin', 'unbind', 'nobody@signet.test'], nobody);
  const last = { code: 1, error: 'conflict', sentence: /last owner/ };
  for (const owner of (await signetJson(env, 'admin', 'list')).administrators) {
    if (owner.role === 'owner' && owner.email !== ADMIN.email)
      await signetJson(env, 'admin', 'remove', owner.email);
  }
  await assertFails(env, ['admin', 'bind', ADMIN.email, id], last);
});

interface AuditEntry {
  actor: { kind: string };
  target: { name: string };
  before: { organization_id: string | null };
  after: { organization_id: string | null };
}

test('admin remove: access ends with the next request, and the last owner stays one', async () => {
  const { password } = await signetJson(env, 'admin', 'add', 'leaving@signet.test', '--generate');
  assert.equal(await status('leaving@signet.test', password), 200);
  await signetJson(env, 'admin', 'remove', 'leaving@signet.test');
  assert.equal(await status('leaving@signet.test', password), 401);

  const alone = childFolder();
  try {
    const empty = await envIn(alone);
    await signetJson(empty, 'migrate');
    const viewer = ['admin', 'add', 'only@signet.test', '--generate', '--role', 'viewer'];
    const first = /The first administrator is an owner/;
    await assertFails(empty, viewer, { code: 1, error: 'conflict', sentence: first });
    await signetJson(empty, 'admin', 'add', 'only@signet.test', '--generate');
    const sentence = /only@signet\.test is the last owner/;
    for (const given of [
      ['admin', 'remove', 'only@signet.test'],
      ['admin', 'role', 'only@signet.test', 'operator'],
    ]) {
      await assertFails(empty, given, { code: 1, error: 'conflict', sentence });
    }
  } finally {
    await alone.remove();
  }
});

test('all administrators removed at the same moment: one of them stays', async () => {
  const folder = childFolder();
  const { database } = await openDatabase(toConfig(await envIn(folder)).database);
  const audit = new AuditLog({ clock: systemClock, masterKey: newMasterKey() });
  const deps = { database, clock: systemClock, ids: createIds(systemClock), audit };
  const emails = ['one@signet.test', 'two@signet.test', 'three@signet.test'];
  const owner = { password: ADMIN.password, role: 'owner', organizationId: null } as const;
  const add = (email: string) => addAdministrator(deps, { email, ...owner }, SERVICE);
  try {
    for (let round = 0; round < 3; round++) {
      const left = (await listAdministrators(database.reader)).map(({ email }) => email);
      await Promise.all(emails.filter((email) => !left.includes(email)).map(add));
      const ended = await Promise.allSettled(
        emails.map((email) => removeAdministrator(deps, { email }, SERVICE)),
      );
      const refused = ended.filter((each) => each.status === 'rejected');
      assert.deepEqual(
        refused.map(({ reason }) => reason.code),
        ['conflict'],
      );
      assert.equal((await listAdministrators(database.reader)).length, 1);
    }
  } finally {
    await database.close();
    await folder.remove();
  }
});

for (const given of [
  ['admin', 'password', 'nobody@signet.test', '--generate'],
  ['admin', 'remove', 'nobody@signet.test'],
]) {
  test(`${given.join(' ')}: nobody there`, () =>
    assertFails(env, given, {
      code: 1,
      error: 'not_found',
      sentence: /No such administrator as nobody@/,
    }));
}

for (const [what, given, sentence] of [
  ['what is no address', ['admin', 'add', 'chief', '--generate'], /must be an e-mail address/],
  ['an unknown role', ['admin', 'role', 'x@y.z', 'king'], /Allowed choices are viewer, operator, owner/],
  ['two sources', ['admin', 'add', 'x@y.z', '--generate', '--password-stdin'], /cannot be used with/],
  ['no source and no terminal', ['admin', 'password', ADMIN.email], /Use --password-stdin or --generate/],
] as const) {
  test(`wrong usage: ${what}`, () => assertFails(env, given, { code: 2, error: 'invalid_usage', sentence }));
}

test('the commands work on the database that SIGNET_DATABASE_URL names, wherever the data folder is', async () => {
  const url = currentDatabase() === 'SQLite' && { SIGNET_DATABASE_URL: join(service.dataDir, 'signet.db') };
  const elsewhere = { ...env, ...url, SIGNET_DATA_DIR: join(service.dataDir, 'none') };
  assert.match((await signet(elsewhere, 'admin', 'list')).stdout, /admin@signet\.test/);
});

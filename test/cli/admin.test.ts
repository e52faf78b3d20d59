import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { adminEnv, type Child, childFolder, runChild, startChild } from '../child.ts';
import { ADMIN, send } from '../harness.ts';
import { assertFails, signet, signetJson } from './signet.ts';

const folder = childFolder();
let child: Child;
before(async () => {
  child = await startChild({ folder, env: adminEnv });
});
after(() => folder.remove());

const status = async (email: string, password: string): Promise<number> =>
  (await send(child.url, 'GET', '/api/agents', { admin: { email, password } })).status;

const withInput = (input: string, ...given: string[]) => runChild({ folder, input, arguments: given });

test('admin add: the new administrator manages the running service, and so does the first one still', async () => {
  const password = 'pässwörd: with spaces ☃';
  const { code, stdout, stderr } = await withInput(
    `${password}\n`,
    'admin',
    'add',
    'Second@Signet.test',
    '--password-stdin',
  );
  assert.deepEqual([code, stdout, stderr], [0, 'Added second@signet.test, owner.\n', '']);
  assert.equal(await status('second@signet.test', password), 200);
  assert.equal(await status(ADMIN.email, ADMIN.password), 200);
  assert.equal(await status('second@signet.test', ADMIN.password), 401);
});

test('admin add --generate prints a password that works, one time', async () => {
  const { administrator, password } = await signetJson(
    folder,
    'admin',
    'add',
    'third@signet.test',
    '--generate',
  );
  assert.equal(await status(administrator.email, password), 200);
  const told = await signet(folder, 'admin', 'password', 'third@signet.test', '--generate');
  const second = /Password +(\S+) +\(shown this once\)/.exec(told.stdout)?.[1] ?? '';
  assert.equal(await status('third@signet.test', second), 200);
  assert.equal((await signet(folder, 'admin', 'list')).stdout.includes(second), false);
});

test('admin add refuses an address that is taken, in any case of its letters', () =>
  assertFails(folder, ['admin', 'add', ADMIN.email.toUpperCase(), '--generate'], {
    code: 1,
    error: 'conflict',
    sentence: /There is an administrator admin@signet\.test already/,
  }));

test('admin password: the old password ends with the very next request, though it was right a moment ago', async () => {
  const email = 'changing@signet.test';
  await signetJson(folder, 'admin', 'add', email, '--generate');
  let last = (await signetJson(folder, 'admin', 'password', email, '--generate')).password;
  for (let round = 0; round < 3; round++) {
    assert.equal(await status(email, last), 200);
    const next = (await signetJson(folder, 'admin', 'password', email, '--generate')).password;
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

test('admin role: what an administrator may do changes with the next request, and the last owner stays one', async () => {
  const email = 'viewing@signet.test';
  const given = ['admin', 'add', email, '--generate', '--role', 'viewer'];
  const { administrator, password } = await signetJson(folder, ...given);
  assert.equal(administrator.role, 'viewer');
  const create = async () => {
    const options = { admin: { email, password }, json: { name: 'agent' } };
    return (await send(child.url, 'POST', '/api/agents', options)).status;
  };
  assert.deepEqual([await status(email, password), await create()], [200, 403]);
  const told = await signet(folder, 'admin', 'role', email, 'operator');
  assert.deepEqual([told.stdout, await create()], [`Now ${email}, operator.\n`, 201]);
  const organization = ['--role', 'operator', '--organization', 'org_x'];
  await assertFails(folder, ['admin', 'add', 'x@signet.test', '--generate', ...organization], {
    code: 1,
    error: 'invalid_request',
    sentence: /no such organization/,
  });
});

test('admin list names all administrators in order, and no password', async () => {
  const { administrators } = await signetJson(folder, 'admin', 'list');
  assert.equal(administrators[0].email, ADMIN.email);
  assert.equal(administrators[1].email, 'second@signet.test');
  assert.deepEqual(Object.keys(administrators[0]), ['id', 'email', 'role', 'organization_id', 'created_at']);
  const { stdout } = await signet(folder, 'admin', 'list');
  assert.match(stdout, /^EMAIL +ROLE +ORGANIZATION +CREATED +ID\nadmin@signet\.test +owner +- +\d{4}-/);
});

test('admin remove: access ends with the next request, and the last owner stays', async () => {
  const alone = childFolder();
  try {
    await signetJson(alone, 'migrate');
    await assertFails(alone, ['admin', 'add', 'only@signet.test', '--generate', '--role', 'viewer'], {
      code: 1,
      error: 'conflict',
      sentence: /The first administrator is an owner/,
    });
    await signetJson(alone, 'admin', 'add', 'only@signet.test', '--generate');
    const sentence = /only@signet\.test is the last owner/;
    await assertFails(alone, ['admin', 'remove', 'only@signet.test'], {
      code: 1,
      error: 'conflict',
      sentence,
    });
    const demotion = ['admin', 'role', 'only@signet.test', 'operator'];
    await assertFails(alone, demotion, { code: 1, error: 'conflict', sentence });
  } finally {
    alone.remove();
  }
  const { password } = await signetJson(folder, 'admin', 'add', 'leaving@signet.test', '--generate');
  assert.equal(await status('leaving@signet.test', password), 200);
  await signetJson(folder, 'admin', 'remove', 'leaving@signet.test');
  assert.equal(await status('leaving@signet.test', password), 401);
});

for (const given of [
  ['admin', 'password', 'nobody@signet.test', '--generate'],
  ['admin', 'remove', 'nobody@signet.test'],
]) {
  test(`${given.join(' ')}: nobody there`, () =>
    assertFails(folder, given, {
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
  test(`wrong usage: ${what}`, () =>
    assertFails(folder, given, { code: 2, error: 'invalid_usage', sentence }));
}

test('an administrator who was made before the first start is the first, and the service makes no other', async () => {
  const early = childFolder();
  try {
    await signetJson(early, 'migrate');
    const { password } = await signetJson(early, 'admin', 'add', 'early@signet.test', '--generate');
    const service = await startChild({ folder: early });
    assert.match(service.output().stdout, /Administrator +early@signet\.test/);
    const admin = { email: 'early@signet.test', password };
    assert.equal((await send(service.url, 'GET', '/api/agents', { admin })).status, 200);
    await service.kill('SIGTERM');
  } finally {
    early.remove();
  }
});

test('the commands work on the database that SIGNET_DATABASE_URL names', async () => {
  const elsewhere = childFolder();
  try {
    const file = { SIGNET_DATABASE_URL: join(folder.path, 'data', 'signet.db') };
    const env = { ...file, ...(await folder.database()).env };
    const { stdout } = await runChild({ folder: elsewhere, env, arguments: ['admin', 'list'] });
    assert.match(stdout, /admin@signet\.test/);
  } finally {
    elsewhere.remove();
  }
});

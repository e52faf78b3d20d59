import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { childFolder, runChild } from '../child.ts';
import { startService, type TestService } from '../harness.ts';

interface Key {
  kid: string;
  status: string;
}

const folder = childFolder();
let service: TestService;
before(async () => {
  service = await startService();
});
after(async () => {
  await service.stop();
  folder.remove();
});

const run = (...given: string[]) =>
  runChild({ folder, env: { SIGNET_DATA_DIR: service.dataDir }, arguments: given });

async function keysBy(...given: string[]): Promise<Key[]> {
  const { code, stdout, stderr } = await run('keys', ...given, '--json');
  assert.deepEqual([code, stderr], [0, '']);
  return JSON.parse(stdout).keys;
}

const keysOfService = async (): Promise<Key[]> =>
  (await service.call('GET', '/api/keys', { admin: true })).body.keys;
const kidWith = (status: string, keys: readonly Key[]) => keys.find((key) => key.status === status)?.kid;
const newToken = async () => (await service.tokens(await service.createAgent())).accessToken;

async function assertVerifies(token: string): Promise<void> {
  assert.equal((await service.introspect(token)).active, true);
  const keys = createRemoteJWKSet(new URL(join('/.well-known/jwks.json'), service.url));
  await jwtVerify(token, keys, { issuer: service.url, typ: 'at+jwt' });
}

/** A turn of the service's maintenance, until what it read shows. */
async function maintained(kid: string | undefined): Promise<void> {
  service.clock.advance({ minutes: 1 });
  while (kidWith('active', await keysOfService()) !== kid) await turn();
}

test('keys list tells what GET /api/keys tells, and nothing private', async () => {
  assert.deepEqual(await keysBy('list'), await keysOfService());
  const { stdout } = await run('keys', 'list');
  assert.match(stdout, /^KID +STATUS +CREATED +ACTIVATED +RETIRED +REMOVE AT\n/);
  for (const { kid } of await keysOfService()) assert.ok(stdout.includes(kid));
  assert.doesNotMatch(`${stdout}${JSON.stringify(await keysBy('list'))}`, /private|sealed|BEGIN|v1\./i);
});

test('keys rotate: tokens issue and verify all along, and within a minute the service signs by the new key', async () => {
  const before = await keysOfService();
  const oldToken = await newToken();
  const rotated = await keysBy('rotate');
  assert.equal(kidWith('active', rotated), kidWith('next', before));
  assert.equal(kidWith('retiring', rotated), kidWith('active', before));
  const between = await newToken();
  for (const token of [oldToken, between]) await assertVerifies(token);

  await maintained(kidWith('active', rotated));
  assert.deepEqual(await keysOfService(), rotated);
  const newest = await newToken();
  assert.equal(decodeProtectedHeader(newest).kid, kidWith('active', rotated));
  for (const token of [oldToken, between, newest]) await assertVerifies(token);
});

test('keys rotate twice before the service looks, then the service rotates itself: no token is lost', async () => {
  const token = await newToken();
  await keysBy('rotate');
  const twice = await keysBy('rotate');
  const between = await newToken();
  for (const each of [token, between]) await assertVerifies(each);
  const { body } = await service.call('POST', '/api/keys/rotate', { admin: true });
  assert.equal(kidWith('active', body.keys), kidWith('next', twice));
  for (const each of [token, between, await newToken()]) await assertVerifies(each);
});

test('keys rotate says when running services take it over', async () => {
  const { code, stdout } = await run('keys', 'rotate');
  assert.equal(code, 0);
  assert.match(stdout, /takes this over within a minute/);
});

test('a token that was signed by a key a minute after its rotation is verified until its last second', async () => {
  const { body } = await service.call('POST', '/api/organizations', {
    admin: true,
    json: { name: 'Slow', slug: 'slow', owner_email: 'slow@signet.test' },
  });
  const organization = body.organization ?? body;
  await service.call('PUT', `/api/organizations/${organization.id}`, {
    admin: true,
    json: { jwt_expiry_secs: 2_592_000 },
  });
  await maintained(kidWith('active', await keysBy('list')));
  const rotated = await keysBy('rotate');
  const agent = await service.createAgent({ organization_id: organization.id });
  service.clock.advance({ seconds: 59 });
  const { accessToken } = await service.tokens(agent);
  assert.equal(decodeProtectedHeader(accessToken).kid, kidWith('retiring', rotated));
  service.clock.advance({ days: 30, milliseconds: -1000 });
  await service.restart();
  await assertVerifies(accessToken).catch((error: { code?: string }) => {
    // jose has the machine's clock, for which this token has not expired either.
    throw error;
  });
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { childFolder, runChild } from '../child.ts';
import { startService, type TestService } from '../harness.ts';
import { createOrganization } from '../oauth/requests.ts';
import { envBeside, signet, signetJson } from './signet.ts';

interface Key {
  kid: string;
  status: string;
}

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const keysBy = async (command: 'list' | 'rotate'): Promise<Key[]> =>
  (await signetJson(envBeside(service), 'keys', command)).keys;

const keysOfService = async (): Promise<Key[]> =>
  (await service.call('GET', '/api/keys', { admin: true })).body.keys;
const kidWith = (status: string, keys: readonly Key[]) => keys.find((key) => key.status === status)?.kid;
const newToken = async () => (await service.tokens(await service.createAgent())).accessToken;

async function assertVerifies(token: string): Promise<void> {
  assert.equal((await service.introspect(token)).active, true);
  const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', service.url));
  await jwtVerify(token, keys, { issuer: service.url, typ: 'at+jwt' });
}

/** A turn of the service's maintenance, until what it read shows. */
async function maintained(kid: string | undefined): Promise<void> {
  service.clock.advance({ minutes: 1 });
  for (let looks = 0; looks < 500; looks++) {
    if (kidWith('active', await keysOfService()) === kid) return;
  }
  assert.fail('The service never took the rotation over.');
}

test('keys list tells what GET /api/keys tells, and nothing private', async () => {
  assert.deepEqual(await keysBy('list'), await keysOfService());
  const { stdout } = await signet(envBeside(service), 'keys', 'list');
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

test('keys rotate in a process of its own ends, and says when running services take it over', async () => {
  const folder = childFolder();
  try {
    const options = { folder, env: envBeside(service), arguments: ['keys', 'rotate'] };
    const { code, signal, stdout, stderr } = await runChild(options);
    assert.deepEqual([code, signal, stderr], [0, null, '']);
    assert.match(stdout, /takes this over within a minute/);
  } finally {
    await folder.remove();
  }
});

test('a token signed by the old key after the rotation, before the service looks, lives to its last second', async () => {
  const slow = await startService();
  try {
    const organizationId = await createOrganization(slow, { jwt_expiry_secs: 2_592_000 });
    const agent = await slow.createAgent({ organization_id: organizationId });
    const { keys } = await signetJson(envBeside(slow), 'keys', 'rotate');

    slow.clock.advance({ seconds: 59 });
    const { accessToken } = await slow.tokens(agent);
    assert.equal(decodeProtectedHeader(accessToken).kid, kidWith('retiring', keys));
    slow.clock.advance({ days: 30, milliseconds: -1000 });
    await slow.restart();
    assert.equal((await slow.introspect(accessToken)).active, true);
  } finally {
    await slow.stop();
  }
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { startService, type TestService } from '../harness.ts';
import { assertReason, assertRefused, createOrganization } from '../oauth/requests.ts';
import { takeApart } from './forge.ts';

let service: TestService;
before(async () => {
  service = await startService({ env: { SIGNET_KEY_ROTATION_DAYS: '2' } });
});
after(() => service.stop());

interface KeyView {
  kid: string;
  status: string;
  activated_at: string | null;
  retired_at: string | null;
  remove_at: string | null;
}

const listKeys = async (): Promise<KeyView[]> =>
  (await service.call('GET', '/api/keys', { admin: true })).body.keys;
const rotate = () => service.call('POST', '/api/keys/rotate', { admin: true });
const jwks = async () => (await service.call('GET', '/.well-known/jwks.json')).body;
const kidOf = (token: string) => takeApart(token).header['kid'];

async function publishedKids(): Promise<string[]> {
  return (await jwks()).keys.map((key: { kid: string }) => key.kid);
}

async function kidWithStatus(status: string): Promise<string> {
  const found = (await listKeys()).filter((key) => key.status === status);
  assert.equal(found.length, 1, `there are ${found.length} keys that are ${status}`);
  return found[0]?.kid ?? '';
}

async function newToken(input: object = {}): Promise<string> {
  return (await service.tokens(await service.createAgent({ ...input }))).accessToken;
}

test('GET /api/keys 200: one key signs, the next one is published and waits', async () => {
  const [active, next] = [await kidWithStatus('active'), await kidWithStatus('next')];
  assert.deepEqual(new Set(await publishedKids()), new Set([active, next]));
  assert.equal(kidOf(await newToken()), active);
  const text = JSON.stringify(await listKeys());
  assert.equal(/private|sealed|BEGIN/i.test(text), false);
});

test('POST /api/keys/rotate 200: the published next key signs, the old one verifies on', async () => {
  const [active, next] = [await kidWithStatus('active'), await kidWithStatus('next')];
  const before = await newToken();
  const { status, body } = await rotate();
  assert.equal(status, 200);
  assert.deepEqual(body.keys, await listKeys());
  assert.equal(await kidWithStatus('active'), next);
  const retired = (await listKeys()).find(({ kid }) => kid === active);
  assert.equal(retired?.status, 'retiring');
  assert.equal(retired?.retired_at, new Date(service.clock.now()).toISOString());
  const later = await newToken();
  assert.equal(kidOf(later), next);
  const keys = createLocalJWKSet(await jwks());
  for (const token of [before, later]) {
    await assertReason(service, token, null);
    await jwtVerify(token, keys, { issuer: service.url, typ: 'at+jwt' });
    assert.equal((await service.call('GET', '/api/agents/me', { bearer: token })).status, 200);
  }
});

test('POST /api/keys/rotate 401: strangers and agents rotate nothing', async () => {
  const kids = await publishedKids();
  const bearer = await newToken({ scopes: ['admin'] });
  for (const options of [{}, { bearer }, { admin: { email: 'a@b.test', password: 'wrong' } }]) {
    assertRefused(await service.call('POST', '/api/keys/rotate', options), 401, 'unauthorized');
  }
  assert.deepEqual(await publishedKids(), kids);
});

test('POST /api/keys/rotate: rotations at once leave one active and one next key', async () => {
  for (let round = 0; round < 3; round++) {
    const answers = await Promise.all([rotate(), rotate(), newToken(), rotate(), newToken()]);
    for (const answer of answers) if (typeof answer !== 'string') assert.equal(answer.status, 200);
    const tokens = answers.filter((answer) => typeof answer === 'string');
    for (const token of tokens) await assertReason(service, token, null);
    const [active] = [await kidWithStatus('active'), await kidWithStatus('next')];
    assert.equal(kidOf(await newToken()), active);
  }
});

test('a restart changes no key, and tokens from before it verify', async () => {
  const [keys, set, token] = [await listKeys(), await jwks(), await newToken()];
  await service.restart();
  assert.deepEqual(await listKeys(), keys);
  assert.deepEqual(await jwks(), set);
  await assertReason(service, token, null);
  assert.equal(kidOf(await newToken()), await kidWithStatus('active'));
});

test('a key is published until the last token that it signed has expired, and then no longer', async () => {
  const organizationId = await createOrganization(service, { jwt_expiry_secs: 2_592_000 });
  const token = await newToken({ organization_id: organizationId });
  const kid = kidOf(token);
  await rotate();
  const { exp } = takeApart(token).claims;
  service.clock.advance({ milliseconds: Number(exp) * 1000 - service.clock.now() - 1 });
  await service.restart();
  assert.ok((await publishedKids()).includes(String(kid)));
  await assertReason(service, token, null);
  await jwtVerify(token, createLocalJWKSet(await jwks()), { currentDate: new Date(service.clock.now()) });
  service.clock.advance({ minutes: 2 });
  await service.restart();
  assert.equal((await publishedKids()).includes(String(kid)), false);
  const { active } = await service.introspect(token);
  assert.equal(active, false);
});

test('after SIGNET_KEY_ROTATION_DAYS the next key takes over by itself, not a moment before', async () => {
  await rotate();
  const [active, next] = [await kidWithStatus('active'), await kidWithStatus('next')];
  service.clock.advance({ days: 2, milliseconds: -1 });
  await service.restart();
  assert.equal(await kidWithStatus('active'), active);
  service.clock.advance({ milliseconds: 1 });
  await service.restart();
  assert.equal(await kidWithStatus('active'), next);
  assert.equal(kidOf(await newToken()), next);
  assert.ok((await publishedKids()).includes(active));
});

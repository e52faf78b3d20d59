import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startService, type TestService } from '../harness.ts';
import { assertReason, assertRefused } from '../oauth/requests.ts';

let one: TestService;
let other: TestService;
before(async () => {
  [one, other] = await Promise.all([startService(), startService()]);
});
after(() => Promise.all([one.stop(), other.stop()]));

test('tokens of another service are invalid here and valid there', async () => {
  const { accessToken, refreshToken } = await other.tokens(await other.createAgent());
  for (const token of [accessToken, refreshToken]) {
    await assertReason(one, token, 'invalid');
    await assertReason(other, token, null);
  }
  assertRefused(await one.call('GET', '/api/agents/me', { bearer: accessToken }), 401, 'invalid_token');
});

test('a token that the same keys signed under another issuer is invalid', async () => {
  const data = mkdtempSync(join(tmpdir(), 'signet-issuer-'));
  const { accessToken } = await one.tokens(await one.createAgent());
  const renamed = await startService({
    env: {
      SIGNET_PUBLIC_URL: 'https://signet.example',
      SIGNET_DATA_DIR: await copyOf(one, data),
      // Where it is no file in that folder, the two share it.
      ...one.databaseEnv,
    },
  });
  try {
    assert.deepEqual(await publishedKeys(renamed), await publishedKeys(one));
    await assertReason(renamed, accessToken, 'invalid');
    assertRefused(await renamed.call('GET', '/api/agents/me', { bearer: accessToken }), 401, 'invalid_token');
  } finally {
    await renamed.stop();
    rmSync(data, { recursive: true, force: true });
  }
  await assertReason(one, accessToken, null);
});

test('POST /oauth/introspect: a token of a megabyte is refused and does no harm', async () => {
  const { accessToken } = await one.tokens(await one.createAgent());
  const huge = (length: number) => `${accessToken}${'A'.repeat(length)}`;
  const ask = (token: string) => one.call('POST', '/oauth/introspect', { form: { token } });
  assertRefused(await ask(huge(1024 * 1024)), 413, 'payload_too_large');
  assertRefused(await ask(huge(30_000)), 400, 'invalid_request');
  await assertReason(one, huge(10_000), 'invalid');
  const response = await fetch(`${one.url}/api/agents/me`, {
    headers: { authorization: `Bearer ${huge(1024 * 1024)}` },
  }).catch(() => null);
  assert.ok(response === null || [400, 431].includes(response.status));
  await assertReason(one, accessToken, null);
});

/** The restart brings all that was written from the log into the file itself. */
async function copyOf(service: TestService, target: string): Promise<string> {
  await service.restart();
  cpSync(service.dataDir, target, { recursive: true });
  return target;
}

const publishedKeys = async (service: TestService) =>
  (await service.call('GET', '/.well-known/jwks.json')).body;

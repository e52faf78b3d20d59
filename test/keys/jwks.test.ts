import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { currentDatabase } from '../databases.ts';
import { startService, type TestService } from '../harness.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const jwks = () => service.call('GET', '/.well-known/jwks.json');

test('GET /.well-known/jwks.json 200: RSA keys with what RFC 7517 asks for, and no private member', async () => {
  const { status, body, headers } = await jwks();
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body), ['keys']);
  for (const key of body.keys) {
    assert.deepEqual(Object.keys(key).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use']);
    assert.deepEqual([key.kty, key.use, key.alg, key.e], ['RSA', 'sig', 'RS256', 'AQAB']);
    assert.equal(Buffer.from(key.n, 'base64url').length, 256);
    assert.match(key.n, /^[\w-]+$/);
  }
  assert.match(headers.get('cache-control') ?? '', /^public, max-age=\d+$/);
  assert.equal(headers.get('access-control-allow-origin'), '*');
});

test('GET /.well-known/jwks.json 200: each kid is the RFC 7638 thumbprint of its key, and no two are equal', async () => {
  const keys: JWK[] = (await jwks()).body.keys;
  for (const key of keys) assert.equal(key.kid, await calculateJwkThumbprint(key));
  assert.equal(new Set(keys.map(({ kid }) => kid)).size, keys.length);
});

function storedFiles(): Buffer[] {
  const files = readdirSync(service.dataDir).filter((name) => name.startsWith('signet.db'));
  assert.ok(files.includes('signet.db') && files.includes('signet.db-wal'), files.join());
  return files.map((name) => readFileSync(join(service.dataDir, name)));
}

async function storedRows(): Promise<Buffer[]> {
  const stored: Buffer[] = [];
  for (const { name } of await service.query(
    "select tablename as name from pg_tables where schemaname = 'public'",
  )) {
    const rows = await service.query(`select row(one.*)::text as row from ${name} as one`);
    stored.push(...rows.map(({ row }) => Buffer.from(String(row))));
  }
  return stored;
}

test('private keys and client secrets never stand in plain text in the database', async () => {
  const agent = await service.createAgent();
  const { refreshToken } = await service.tokens(agent);
  await service.call('POST', '/api/keys/rotate', { admin: true });
  const { body } = await jwks();
  const stored = currentDatabase() === 'SQLite' ? storedFiles() : await storedRows();
  assert.ok(
    stored.some((bytes) => bytes.includes(body.keys[0].n)),
    'the scan reads what is stored',
  );
  for (const bytes of stored) {
    for (const secret of ['PRIVATE KEY', '"d":', agent.clientSecret, refreshToken.split('_')[2] ?? '']) {
      assert.equal(bytes.includes(secret), false, secret);
    }
  }
});

test('no private key reaches the log', () => {
  assert.equal(/PRIVATE KEY|"d":"/.test(service.logLines.join('\n')), false);
});

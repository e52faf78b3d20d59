import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type GenerateKey, generateSigningKey, withPublicJwk } from '../src/keys/signing-key.ts';

/**
 * Hundreds of services start in a run, each with two keys, and making one costs as much as all the rest of a start. So
 * they take from a store, which outlives the run; no two services of one test file ever get the same.
 */

const STORED = 24;
const file = join(import.meta.dirname, '..', 'node_modules', '.cache', 'signet-test-keys.json');

/** Once, before the test files. */
export function storeSigningKeys(): void {
  if (existsSync(file)) return;
  const keys = Array.from({ length: STORED }, () =>
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  );
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(keys), { mode: 0o600 });
  renameSync(`${file}.${process.pid}`, file);
}

let left: string[] | null = null;

/** Before each test file, where several run in one process. */
export function refillSigningKeys(): void {
  left = null;
}

export const storedSigningKey: GenerateKey = async () => {
  left ??= existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as string[]) : [];
  const pem = left.pop();
  return pem === undefined ? generateSigningKey() : withPublicJwk(createPrivateKey(pem));
};

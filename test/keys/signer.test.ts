import assert from 'node:assert/strict';
import crypto, { generateKeyPairSync, verify } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, mock, test } from 'node:test';
import { createSigner } from '../../src/keys/signer.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

type Done = (error: Error | null, signature: Buffer) => void;

/** Takes the place of the pool of threads: each signature stays under way until the test ends it. */
function holdSignatures() {
  const underWay: Array<{ data: string; done: Done }> = [];
  mock.method(crypto, 'sign', (_algorithm: string, data: Buffer, _key: unknown, done: Done) => {
    underWay.push({ data: data.toString(), done });
  });
  syncBuiltinESMExports();
  return underWay;
}
afterEach(() => {
  mock.restoreAll();
  syncBuiltinESMExports();
});

test('the signer makes RS256 signatures, each of its own data', async () => {
  const sign = createSigner(2);
  const texts = Array.from({ length: 12 }, (_, n) => Buffer.from(`text ${n}`));
  const signatures = await Promise.all(texts.map((text) => sign(text, privateKey)));
  for (const [index, text] of texts.entries()) {
    assert.ok(verify('sha256', text, publicKey, signatures[index] as Buffer));
  }
});

for (const concurrency of [1, 2, 5]) {
  test(`at most ${concurrency} signatures are under way, the others start in the order of their arrival`, async () => {
    const underWay = holdSignatures();
    const sign = createSigner(concurrency);
    const all = Array.from({ length: 12 }, (_, n) => sign(Buffer.from(`${n}`), privateKey));
    const started: string[] = [];
    while (started.length < 12) {
      assert.equal(underWay.length, Math.min(concurrency, 12 - started.length));
      const { data, done } = underWay.shift() as { data: string; done: Done };
      started.push(data);
      done(null, Buffer.from(`signature of ${data}`));
    }
    assert.deepEqual(
      started,
      Array.from({ length: 12 }, (_, n) => `${n}`),
    );
    const texts = (await Promise.all(all)).map(String);
    assert.deepEqual(
      texts,
      started.map((data) => `signature of ${data}`),
    );
  });
}

test('a signature that fails fails alone, and its place is free again', async () => {
  const underWay = holdSignatures();
  const sign = createSigner(1);
  const [broken, whole] = [sign(Buffer.from('a'), privateKey), sign(Buffer.from('b'), privateKey)];
  underWay.shift()?.done(new Error('broken'), Buffer.alloc(0));
  await assert.rejects(broken, /broken/);
  underWay.shift()?.done(null, Buffer.from('whole'));
  assert.equal(String(await whole), 'whole');
});

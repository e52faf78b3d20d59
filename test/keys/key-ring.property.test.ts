import assert from 'node:assert/strict';
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { CompactSign, compactVerify, createLocalJWKSet } from 'jose';
import { unseal } from '../../src/encryption.ts';
import { type OpenRing, openRing } from './key-ring.ts';

let opened: OpenRing;
before(async () => {
  opened = await openRing();
});
after(() => opened.close());

const claims = fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 10 }), fc.jsonValue({ maxDepth: 2 }));
const runs = { numRuns: 50 };

const asWritten = (value: object): unknown => JSON.parse(JSON.stringify(value));

function activeKey(): { kid: string; privateKey: KeyObject } {
  const key = opened.ring.keys.find(({ status }) => status === 'active');
  assert.ok(key !== undefined);
  const pem = unseal(opened.masterKey, key.sealedPrivateKey, `signing_keys/${key.kid}`);
  return { kid: key.kid, privateKey: createPrivateKey(pem) };
}

test('jose verifies what the ring signs, whatever the claims', async () => {
  const keys = createLocalJWKSet({ keys: opened.ring.publicJwks });
  await fc.assert(
    fc.asyncProperty(claims, async (payload) => {
      const token = await opened.ring.sign(payload);
      const verified = await compactVerify(token, keys, { algorithms: ['RS256'] });
      assert.deepEqual(JSON.parse(Buffer.from(verified.payload).toString()), asWritten(payload));
      assert.deepEqual(opened.ring.verify(token), asWritten(payload));
    }),
    runs,
  );
});

test('the ring verifies what jose signs with its key, and nothing that jose signs under another header', async () => {
  const { kid, privateKey } = activeKey();
  const sign = (payload: object, header: { alg: string; [name: string]: string }) =>
    new CompactSign(Buffer.from(JSON.stringify(payload))).setProtectedHeader(header).sign(privateKey);
  await fc.assert(
    fc.asyncProperty(claims, async (payload) => {
      const ours = await sign(payload, { alg: 'RS256', typ: 'at+jwt', kid });
      assert.deepEqual(opened.ring.verify(ours), asWritten(payload));
      for (const header of [
        { alg: 'RS256', kid },
        { alg: 'RS256', typ: 'JWT', kid },
        { alg: 'RS512', typ: 'at+jwt', kid },
        { alg: 'PS256', typ: 'at+jwt', kid },
      ]) {
        assert.equal(opened.ring.verify(await sign(payload, header)), null);
      }
    }),
    { numRuns: 15 },
  );
});

test('any change of one character makes a token worthless', async () => {
  const token = await opened.ring.sign({ sub: 'agent_x', scope: 'read' });
  fc.assert(
    fc.property(fc.nat(), fc.string({ unit: 'binary', maxLength: 2 }), (position, text) => {
      const at = position % token.length;
      const changed = token.slice(0, at) + text + token.slice(at + 1);
      if (changed !== token) assert.equal(opened.ring.verify(changed), null);
    }),
    { numRuns: 200 },
  );
});

test('no other text verifies, and none throws', async () => {
  const [header = ''] = (await opened.ring.sign({})).split('.');
  const segment = fc.oneof(fc.string({ unit: 'binary' }), fc.base64String(), fc.constantFrom('', header));
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(segment, { maxLength: 5 }).map((segments) => segments.join('.')),
    fc.tuple(segment, segment).map(([payload, signature]) => `${header}.${payload}.${signature}`),
  );
  fc.assert(
    fc.property(texts, (text) => assert.equal(opened.ring.verify(text), null)),
    { numRuns: 200 },
  );
});

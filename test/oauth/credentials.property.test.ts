import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseBasicCredentials } from '../../src/basic-credentials.ts';
import { createIds, digestSecret } from '../../src/ids.ts';
import { readClientCredentials } from '../../src/oauth/client-authentication.ts';
import { formatRefreshToken, parseRefreshToken } from '../../src/oauth/refresh-token-format.ts';
import { basic } from '../harness.ts';

const text = fc.string({ unit: 'grapheme' });
const userId = text.filter((value) => !value.includes(':'));

test('Basic credentials are read as they were written, colons in the password included', () => {
  fc.assert(
    fc.property(userId, text, (user, password) => {
      assert.deepEqual(parseBasicCredentials(basic(user, password)), { userId: user, password });
    }),
  );
});

test('the replacement character is a character like others where somebody wrote it', () => {
  assert.deepEqual(parseBasicCredentials(basic('', '\ufffd')), { userId: '', password: '\ufffd' });
});

test('Basic credentials of a client are form-decoded after they are taken apart', () => {
  const formEncode = (value: string) => new URLSearchParams([['', value]]).toString().slice(1);
  fc.assert(
    fc.property(text, text, (clientId, clientSecret) => {
      const authorization = basic(formEncode(clientId), formEncode(clientSecret));
      const read = readClientCredentials({ authorization, body: {} });
      assert.deepEqual(read, { clientId, clientSecret, usedBasic: true });
    }),
  );
});

test('any Authorization header is read as a pair or as nothing, and never throws', () => {
  const header = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.base64String().map((value) => `Basic ${value}`),
    fc.string().map((value) => `Basic ${value}`),
  );
  fc.assert(
    fc.property(header, (authorization) => {
      const read = parseBasicCredentials(authorization);
      if (read === null) return;
      assert.equal(read.userId.includes(':'), false);
      assert.match(authorization, /^basic /i);
    }),
  );
});

test('control characters and broken UTF-8 make no credentials', () => {
  const bad = fc.constantFrom([0], [9], [10], [13], [31], [127], [0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80]);
  fc.assert(
    fc.property(userId, text, bad, (user, password, bytes) => {
      const pair = Buffer.concat([Buffer.from(`${user}:${password}`), Buffer.from(bytes)]);
      assert.equal(parseBasicCredentials(`Basic ${pair.toString('base64')}`), null);
    }),
  );
});

const secret = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => createIds({ now: () => 0 }, () => bytes).newRefreshTokenSecret());
const row = fc.integer({ min: 1, max: 36 ** 10 - 1 });

test('a refresh token is taken apart into the row and the digest of its secret', () => {
  fc.assert(
    fc.property(row, secret, (id, value) => {
      const parts = parseRefreshToken(formatRefreshToken(id, value));
      assert.deepEqual(parts, { id, digest: digestSecret(value) });
    }),
  );
});

test('no two spellings are the same refresh token, and nothing else is one', () => {
  const noise = fc.tuple(fc.nat(), fc.constantFrom('', 'A', '0', '_', ' ', '\n', '.', 'é'), fc.boolean());
  fc.assert(
    fc.property(row, secret, noise, (id, value, [position, character, replaces]) => {
      const token = formatRefreshToken(id, value);
      const at = position % token.length;
      const changed = token.slice(0, at) + character + token.slice(at + (replaces ? 1 : 0));
      const parts = parseRefreshToken(changed);
      if (parts !== null) assert.equal(formatRefreshToken(parts.id, value), changed);
    }),
    { numRuns: 500 },
  );
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (stray) => parseRefreshToken(`rt_${stray}`) === null));
});

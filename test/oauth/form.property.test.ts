import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeFormValue, parseForm } from '../../src/oauth/form.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const anyName = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'toString', 'grant_type'));
const fields = fc.uniqueArray(fc.tuple(anyName, text), { selector: ([name]) => name, maxLength: 8 });

/** `{"": ""}` is written as `=`; the platform and this parser both read it back. */
const write = (pairs: ReadonlyArray<readonly [string, string]>): string =>
  new URLSearchParams(pairs.map(([name, value]) => [name, value])).toString();

test('whatever URLSearchParams writes is read as it was', () => {
  fc.assert(
    fc.property(fields, (pairs) => {
      const parsed = parseForm(write(pairs));
      assert.deepEqual(new Map(Object.entries(parsed)), new Map(pairs));
    }),
  );
});

test('where both read a text, the platform reads the same', () => {
  const letters = fc.constantFrom(...'ab=&+%2041;é'.split(''));
  fc.assert(
    fc.property(fc.string({ unit: letters, maxLength: 30 }), (body) => {
      let parsed: Record<string, string>;
      try {
        parsed = parseForm(body);
      } catch (error) {
        assert.equal((error as { code: string }).code, 'invalid_request');
        return;
      }
      assert.deepEqual(Object.entries(parsed).sort(), [...new URLSearchParams(body)].sort());
    }),
    { numRuns: 500 },
  );
});

test('a repeated name is refused, however it is spelled and wherever it stands', () => {
  fc.assert(
    fc.property(fields, fc.nat(), text, (pairs, position, value) => {
      fc.pre(pairs.length > 0);
      const [name] = pairs[position % pairs.length] ?? [''];
      const spelled = [...Buffer.from(name)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
      for (const more of [write([[name, value]]), `${spelled}=`]) {
        assert.throws(() => parseForm(`${write(pairs)}&${more}`), { code: 'invalid_request' });
        assert.throws(() => parseForm(`${more}&${write(pairs)}`), { code: 'invalid_request' });
      }
    }),
  );
});

test('broken percent-encoding is refused in names and in values', () => {
  const broken = fc.constantFrom(
    '%',
    '%4',
    '%zz',
    '%ff',
    '%c3',
    '%c3%28',
    '%ed%a0%80',
    '%u0041',
    '%f8%88%80%80',
  );
  fc.assert(
    fc.property(fields, broken, (pairs, text) => {
      assert.equal(decodeFormValue(text), null);
      for (const more of [`x-own=${text}`, `${text}=x`]) {
        assert.throws(() => parseForm(`${write(pairs)}&${more}`), { code: 'invalid_request' });
      }
    }),
  );
});

test('prototype names are fields like others and change no prototype', () => {
  const parsed = parseForm('__proto__=a&constructor=b&prototype=c&toString=d');
  assert.deepEqual(Object.keys(parsed), ['__proto__', 'constructor', 'prototype', 'toString']);
  assert.equal(Object.getPrototypeOf(parsed), null);
  assert.equal(Object.getPrototypeOf({}), Object.prototype);
  assert.equal('a' in {}, false);
});

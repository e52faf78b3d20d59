import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatScope, grantScopes, narrowScopes, parseScope, splitScope } from '../../src/agents/scope.ts';

const TOKEN_CHARACTERS = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).filter(
  (character) => character !== '"' && character !== '\\',
);

const name = fc.string({ unit: fc.constantFrom(...TOKEN_CHARACTERS), minLength: 1, maxLength: 64 });
/** Few names, so that they meet. */
const commonName = fc.oneof(fc.constantFrom('read', 'write', 'admin'), name);
const names = fc.array(commonName, { minLength: 1, maxLength: 8 });
const sets = fc.uniqueArray(commonName, { maxLength: 8 });

test('every well-formed scope is read as its names, in order, each once', () => {
  fc.assert(
    fc.property(names, (list) => {
      const parsed = parseScope(list.join(' '));
      assert.deepEqual(parsed, [...new Set(list)]);
      assert.deepEqual(parseScope(formatScope(parsed)), parsed);
      assert.deepEqual(splitScope(formatScope(parsed)), parsed);
    }),
  );
});

test('a scope with anything else in it is refused', () => {
  const stray = fc.constantFrom('  ', '\t', '\n', '"', '\\', '\0', '\x7f', 'é', '\u2028', '😀');
  fc.assert(
    fc.property(names, stray, fc.nat(), (list, character, position) => {
      const text = list.join(' ');
      const at = position % (text.length + 1);
      const broken = text.slice(0, at) + character + text.slice(at);
      assert.throws(() => parseScope(broken), { code: 'invalid_scope' });
    }),
  );
});

test('a grant is all that is held, or exactly what is asked for, or a refusal', () => {
  fc.assert(
    fc.property(sets, fc.option(names, { nil: undefined }), (held, asked) => {
      const grant = () => grantScopes(held, asked?.join(' '));
      if (asked === undefined) assert.deepEqual(grant(), held);
      else if (asked.every((scope) => held.includes(scope))) assert.deepEqual(grant(), [...new Set(asked)]);
      else assert.throws(grant, { code: 'invalid_scope' });
    }),
  );
});

test('narrowing keeps what both hold, in the order of the grant, and narrowing again changes nothing', () => {
  fc.assert(
    fc.property(sets, sets, (granted, held) => {
      const left = narrowScopes(granted, held);
      assert.deepEqual(new Set(left), new Set(granted).intersection(new Set(held)));
      assert.deepEqual(
        left,
        granted.filter((scope) => left.includes(scope)),
      );
      assert.deepEqual(narrowScopes(left, held), left);
      assert.deepEqual(narrowScopes(granted, granted), granted);
    }),
  );
});

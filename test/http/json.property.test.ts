import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJson } from '../../src/http/body-parsers.ts';

const refused = { code: 'invalid_request' };

/** JSON text with white space and escapes as other writers make them, but no `__proto__`, which is refused. */
const json = fc
  .tuple(
    fc.json({ stringUnit: 'grapheme', maxDepth: 6 }),
    fc.constantFrom<string | undefined>(undefined, '\t', '  '),
    fc.boolean(),
  )
  .map(([text, indent, escapes]) => {
    const spaced = JSON.stringify(JSON.parse(text), null, indent);
    return escapes ? spaced.replace(/[^\x20-\x7e\s]/g, toEscape) : spaced;
  })
  .filter((text) => !text.includes('__proto__'));

const toEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Puts a document somewhere inside of others. */
const wrappers = fc.array(
  fc.constantFrom<(inner: string) => string>(
    (inner) => `[1,${inner}]`,
    (inner) => `{"a":${inner}}`,
    (inner) => `{"b":{"a":":"},"c" : ${inner} }`,
    (inner) => `["\\":{\\"",${inner},[]]`,
  ),
  { maxLength: 9 },
);
const wrap = (inner: string, layers: ReadonlyArray<(inner: string) => string>): string =>
  layers.reduce((text, layer) => layer(text), inner);

test('what JSON.parse reads of a document without repetitions is what is read', () => {
  fc.assert(fc.property(json, (text) => assert.deepEqual(parseJson(text), JSON.parse(text))));
});

test('a document that JSON.parse refuses is refused', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:1tn\\ ') }), (text) => {
      try {
        JSON.parse(text);
      } catch {
        assert.throws(() => parseJson(text), refused);
      }
    }),
    { numRuns: 300 },
  );
});

test('a repeated member is refused at any depth, however it is spelled', () => {
  const name = fc.oneof(
    fc.string({ unit: 'grapheme' }).filter((text) => text !== '__proto__'),
    fc.constantFrom('a', ':', '":"', '\\', 'constructor'),
  );
  fc.assert(
    fc.property(name, json, json, wrappers, fc.boolean(), (member, one, other, layers, escapes) => {
      const plain = JSON.stringify(member);
      const spelled = escapes ? `"${member.replace(/./gs, toEscape)}"` : plain;
      const doubled = `{${plain}:${one},"filler":0,${spelled}:${other}}`;
      assert.throws(() => parseJson(wrap(doubled, layers)), refused);
    }),
  );
});

test('NUL, halves of surrogate pairs and __proto__ are refused at any depth, as names and as values', () => {
  const hidden = fc.constantFrom('"a\\u0000"', '"\\ud800"', '"\\udc00 "', '"x\\udfff\\ud800"');
  fc.assert(
    fc.property(hidden, json, wrappers, (text, value, layers) => {
      for (const bad of [
        text,
        `{${text}:${value}}`,
        `{"__proto__":${value}}`,
        `{"__pro\\u0074o__":${value}}`,
      ]) {
        assert.throws(() => parseJson(wrap(bad, layers)), refused);
      }
    }),
  );
});

test('documents are nested twenty deep and no deeper', () => {
  const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);
  for (const depth of [1, 20, 21]) assert.ok(parseJson(nested(depth, '[', ']')));
  for (const depth of [22, 100, 30_000]) {
    assert.throws(() => parseJson(nested(depth, '[', ']')), refused);
    assert.throws(() => parseJson(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`), refused);
  }
});

test('a document of 64 KiB is read, whatever fills it', () => {
  for (const value of ['x'.repeat(65_000), '"'.repeat(30_000), '\\'.repeat(30_000), ':'.repeat(65_000)]) {
    assert.deepEqual(parseJson(JSON.stringify({ value })), { value });
  }
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generatedPages } from '../../scripts/docs.ts';
import { errorCatalogue } from '../../src/errors.ts';
import { settings } from '../../src/settings.ts';

const pages = generatedPages();

for (const [path, text] of Object.entries(pages)) {
  test(`${path} is what npm run docs would write`, () => {
    assert.equal(readFileSync(path, 'utf8'), text);
  });
}

test('every setting has its row', () => {
  const page = pages['docs/configuration.md'] ?? '';
  for (const name of Object.keys(settings)) assert.match(page, new RegExp(`^\\| \`${name}\` \\|`, 'm'));
});

test('every error code has its row, with its status', () => {
  const page = pages['docs/errors.md'] ?? '';
  for (const [code, { status }] of Object.entries(errorCatalogue)) {
    assert.match(page, new RegExp(`^\\| \`${code}\` \\| ${status} \\|`, 'm'));
  }
});

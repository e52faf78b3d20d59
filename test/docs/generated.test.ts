import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { commandsOf } from '../../scripts/cli-page.ts';
import { generatedPages } from '../../scripts/docs.ts';
import { depsOfProcess } from '../../src/cli/command.ts';
import { createProgram } from '../../src/cli/program.ts';
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

test('every command has its section, with all of its options', () => {
  const page = pages['docs/cli.md'] ?? '';
  for (const [path, command] of commandsOf(createProgram(depsOfProcess()))) {
    assert.match(page, new RegExp(`^## ${path}$`, 'm'));
    for (const { flags } of command.options) assert.ok(page.includes(`| \`${flags}\` |`), `${path} ${flags}`);
  }
});

test('every error code has its row, with its status', () => {
  const page = pages['docs/errors.md'] ?? '';
  for (const [code, { status }] of Object.entries(errorCatalogue)) {
    assert.match(page, new RegExp(`^\\| \`${code}\` \\| ${status} \\|`, 'm'));
  }
});

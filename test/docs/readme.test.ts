import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { type Block, fencedBlocks } from './markdown.ts';
import { openDesk, type ReadersDesk } from './readme-run.ts';

const [start, greeting, ...rest] = fencedBlocks(readFileSync('README.md', 'utf8'));
const hasTools = ['curl', 'sh'].every((tool) => spawnSync(tool, ['--version']).error === undefined);

describe('README.md', { skip: hasTools ? false : 'its commands need curl and a shell' }, () => {
  let desk: ReadersDesk;
  let lastOutput = '';

  before(async () => {
    desk = await openDesk((start?.text ?? '').replace('npm ci\n', ''));
  });
  after(() => desk.tidyUp());

  test('the service starts with the first block and prints the second', () => {
    assert.match(start?.text ?? '', /^npm ci\nnpm start$/m);
    const password = /Password {8}(\S+)/.exec(desk.greeting)?.[1];
    assert.ok(password, 'a password is printed');
    desk.exported['PASSWORD'] = password;
    const printed = desk.withTheirAddresses(desk.greeting).replaceAll(password, 'Qm5h…');
    assert.ok(printed.includes(greeting?.text ?? 'nothing'), printed);
  });

  for (const [index, block] of rest.entries()) {
    const title = `block ${index + 3} (${block.language}): ${block.text.split('\n')[0]}`;
    test(title, () => runBlock(block, rest[index + 1]));
  }

  async function runBlock({ language, text }: Block, next: Block | undefined): Promise<void> {
    switch (language) {
      case 'sh':
        lastOutput = await desk.shell(text);
        assert.notEqual(lastOutput, '');
        if (next?.language !== 'json') assert.doesNotMatch(lastOutput, /"error"/);
        return;
      case 'json':
        assert.deepEqual(comparable(parsed(lastOutput)), comparable(parsed(text)));
        exportSecrets(parsed(lastOutput));
        return;
      case 'js':
        return runFile(text);
      default:
        assert.ok(['text', 'nginx'].includes(language), `nothing tests a block of ${language}`);
    }
  }

  async function runFile(text: string): Promise<void> {
    const name = /^\/\/ (\S+)\n/.exec(text)?.[1];
    assert.ok(name, 'the first line names the file');
    desk.saveFile(name, text);
    if (text.includes('.listen(')) await desk.startServer(name);
  }

  /** As the README asks its reader to: under the name in capitals. */
  function exportSecrets(answer: Record<string, unknown>): void {
    for (const [name, value] of Object.entries(answer)) {
      if (typeof value === 'string') desk.exported[name.toUpperCase()] = value;
    }
  }
});

function parsed(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}

/** What two runs have in common: everything but numbers and the strings that hold digits or are cut short. */
function comparable(value: unknown): unknown {
  if (typeof value === 'number') return 'a number';
  if (typeof value === 'string') return /[\d…]/.test(value) ? 'some string' : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(comparable);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, comparable(member)]));
}

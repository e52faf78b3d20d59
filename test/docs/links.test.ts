import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { anchors, links } from './markdown.ts';

const pages = globSync(['*.md', 'docs/**/*.md']);

for (const page of pages) {
  test(`${page}: every relative link leads somewhere`, () => {
    for (const link of relativeLinks(page)) {
      const target = targetOf(page, link);
      assert.ok(existsSync(target), `${link}: there is no ${target}`);
      const fragment = link.split('#')[1];
      if (fragment === undefined) continue;
      assert.ok(anchors(read(target)).includes(fragment), `${link}: ${target} has no such heading`);
    }
  });
}

test('every file that a page names is there', () => {
  for (const page of pages) {
    const named = read(page).matchAll(
      /\b(?:src|test|docs|scripts|bin|migrations|bench)\/[\w./-]+\.(?:ts|mjs|md)\b/g,
    );
    for (const [path] of named) assert.ok(existsSync(path), `${page} names ${path}`);
  }
});

test('docs/architecture.md has every folder and file at the top of src on its map', () => {
  const map = read('docs/architecture.md');
  for (const entry of readdirSync('src', { withFileTypes: true })) {
    const name = entry.isDirectory() ? `  ${entry.name}/ ` : entry.name;
    assert.ok(map.includes(name), `${name} is not on the map`);
  }
});

test('every page can be reached from README.md', () => {
  const reached = new Set<string>();
  const follow = (page: string) => {
    if (reached.has(page)) return;
    reached.add(page);
    for (const link of relativeLinks(page)) {
      const target = targetOf(page, link);
      if (target.endsWith('.md')) follow(target);
    }
  };
  follow('README.md');
  assert.deepEqual(
    pages.filter((page) => !reached.has(page)),
    [],
  );
});

const read = (path: string): string => readFileSync(path, 'utf8');

function relativeLinks(page: string): string[] {
  return links(read(page)).filter((link) => !/^[a-z]+:/.test(link));
}

function targetOf(page: string, link: string): string {
  const path = link.split('#')[0] ?? '';
  return path === '' ? page : normalize(join(dirname(page), path));
}

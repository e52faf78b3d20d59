export interface Block {
  language: string;
  text: string;
}

const FENCED = /^( *)```(\w*)\n([\s\S]*?)^\1```$/gm;

/** The fenced code blocks, in order, without the indentation of a list that they stand in. */
export function fencedBlocks(markdown: string): Block[] {
  return [...markdown.matchAll(FENCED)].map(([, indent = '', language = '', text = '']) => ({
    language,
    text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}

const withoutCode = (markdown: string): string =>
  markdown.replaceAll(FENCED, '').replaceAll(/`[^`\n]*`/g, '');

/** The targets of inline links. */
export function links(markdown: string): string[] {
  return [...withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
}

/** The fragments that a page can be linked at, as GitHub makes them of its headings. */
export function anchors(markdown: string): string[] {
  return [...markdown.replaceAll(FENCED, '').matchAll(/^#+ (.+)$/gm)].map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

export function page(title: string, source: string, body: string): string {
  return `# ${title}\n\n<!-- Made by \`npm run docs\` from ${source}. Change it there. -->\n\n${body}\n`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map(() => '---');
  return [head, rule, ...rows].map((cells) => `| ${cells.map(escapeCell).join(' | ')} |`).join('\n');
}

const escapeCell = (text: string): string => text.replaceAll('|', '\\|');

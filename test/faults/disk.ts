import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type ChildFolder, childFolder } from '../child.ts';
import { databaseKinds, sqliteQuery, temporaryFolder } from '../databases.ts';

/** Why tests that need a disk of their own are skipped here; false where they run. */
export function whyNoDisk(): string | false {
  if (!databaseKinds.includes('SQLite')) return 'these are faults of a SQLite file';
  const folder = temporaryFolder();
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', folder]).status === 0;
  if (isMounted) execFileSync('umount', [folder]);
  rmSync(folder, { recursive: true });
  return isMounted ? false : 'a disk of its own needs the right to mount one (root on Linux)';
}

/** The data folder of a service, on a small disk of its own. */
export interface Disk {
  folder: ChildFolder;
  dataDir: string;
  query: ReturnType<typeof sqliteQuery>;
  /** Takes all the room that is left. */
  fill(): void;
  makeRoom(): void;
  /** For as long as nobody has a file open on it. */
  remount(mode: 'ro' | 'rw'): void;
  remove(): Promise<void>;
}

const BLOCK = Buffer.alloc(4096, 'ballast');

export function mountDisk(megabytes: number): Disk {
  const { folder, dataDir, query } = sqliteFolder();
  mkdirSync(dataDir);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', dataDir]);
  const ballast = join(dataDir, 'ballast');
  return {
    folder,
    dataDir,
    query,
    fill: () => writeUntilFull(ballast),
    makeRoom: () => rmSync(ballast, { force: true }),
    remount: (mode) => execFileSync('mount', ['-o', `remount,${mode}`, dataDir]),
    async remove() {
      for (const child of folder.children) child.kill('SIGKILL');
      spawnSync('umount', ['--lazy', dataDir]);
      await folder.remove();
    },
  };
}

/** The folder of a service on SQLite, whichever databases this run is about. */
export function sqliteFolder() {
  const folder = childFolder(async (path) => ({
    env: {},
    query: sqliteQuery(join(path, 'signet.db')),
    remove: async () => {},
  }));
  const dataDir = join(folder.path, 'data');
  return { folder, dataDir, query: sqliteQuery(join(dataDir, 'signet.db')) };
}

function writeUntilFull(path: string): void {
  const file = openSync(path, 'a');
  try {
    for (;;) writeSync(file, BLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}

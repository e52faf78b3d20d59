import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { backupSqlite } from '../db/sqlite-backup.ts';
import type { CommandDeps, Outcome } from './command.ts';
import { existingSqliteFile } from './database.ts';
import { CommandFailure } from './failure.ts';

interface Request {
  file: string;
  /** Whether a file that exists may be replaced. */
  isForced: boolean;
}

/** Copies the database as it is at one moment, beside a service that goes on writing. */
export async function backUp(
  { loadConfig }: Pick<CommandDeps, 'loadConfig'>,
  { file, isForced }: Request,
): Promise<Outcome> {
  const { database } = loadConfig();
  if (database.kind === 'postgres') {
    throw new CommandFailure('unsupported', 'The database is PostgreSQL: back it up with pg_dump.');
  }
  const source = existingSqliteFile(database.path);
  const target = resolve(file);
  refuseBadPlace(target, source);
  if (existsSync(target) && !isForced) {
    throw new CommandFailure(
      'conflict',
      `${target} exists. Choose another name, or replace it with --force.`,
    );
  }
  const bytes = await backupSqlite(source, target);
  return {
    text: `Copied ${source} to ${target}: ${bytes.toLocaleString('en')} bytes, checked.
The master key is not in it, and without that key the copy cannot be used. Keep a copy of the key, in another place.
`,
    json: { source, file: target, bytes, includes_master_key: false },
  };
}

function refuseBadPlace(target: string, source: string): void {
  if (!existsSync(dirname(target))) {
    throw new CommandFailure('failed', `There is no folder ${dirname(target)}. Make it first.`);
  }
  const found = statSync(target, { throwIfNoEntry: false });
  const { dev, ino } = statSync(source);
  if (found?.dev === dev && found.ino === ino) {
    throw new CommandFailure('conflict', `${target} is the database itself. Choose another name.`);
  }
  if (found?.isDirectory()) throw new CommandFailure('conflict', `${target} is a folder. Name a file in it.`);
  // SQLite would take such a leftover for a part of the new file, and damage it.
  const leftover = ['-wal', '-journal'].map((suffix) => target + suffix).find((path) => existsSync(path));
  if (leftover !== undefined) {
    throw new CommandFailure(
      'conflict',
      `${target} is a database in use: there is ${leftover}. Choose another name.`,
    );
  }
}

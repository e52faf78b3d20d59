import { dirname, join } from 'node:path';
import { toTimestamp } from '../clock.ts';
import type { Config } from '../config.ts';
import { type CopiedTable, copyDatabase } from '../db/copy.ts';
import { type CopyPlace, isSamePlace, nameOfPlace } from '../db/copy-place.ts';
import type { MasterKey } from '../encryption.ts';
import { readKeyFile, requireMasterKey } from '../master-key.ts';
import { database, Problem } from '../settings.ts';
import type { CommandDeps, Outcome } from './command.ts';
import { existingSqliteFile } from './database.ts';
import { CommandFailure } from './failure.ts';
import { textTable } from './text-table.ts';

type Deps = Pick<CommandDeps, 'loadConfig' | 'clock'>;

interface Key {
  key: MasterKey;
  /** Where it is, for a shell. */
  text: string;
}

interface Done {
  from: CopyPlace;
  to: CopyPlace;
  tables: CopiedTable[];
  key: Key | null;
  /** Nothing that was written later is in the copy. */
  readAt: string;
}

/** Carries everything to another, empty database, and compares both. */
export async function copy(
  { loadConfig, clock }: Deps,
  given: { from: string; to: string },
): Promise<Outcome> {
  const from = placeOf('FROM', given.from);
  const to = placeOf('TO', given.to);
  const key = findKey(loadConfig(), from);
  if (from.kind === 'sqlite') existingSqliteFile(from.path);
  if (isSamePlace(from, to)) {
    throw new CommandFailure('conflict', 'FROM and TO are the same database. Name another one to copy to.');
  }
  const readAt = toTimestamp(clock.now());
  const tables = await copyDatabase({ from, to }, async (source) => {
    if (key !== null) await requireMasterKey(source, key.key);
  });
  const done = { from, to, tables, key, readAt };
  return { text: toText(done), json: toJson(done) };
}

/** Not by the parser of the command line, whose refusal repeats the URL with its password. */
function placeOf(argument: string, text: string): CopyPlace {
  try {
    return database(text);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new CommandFailure('invalid_usage', `${argument} ${error.message}`);
  }
}

/** The key that ought to open what FROM holds, where it can be had: the configured one, or that of the file's folder. */
function findKey(config: Config, from: CopyPlace): Key | null {
  if (config.masterKey !== null) return { key: config.masterKey, text: 'as it is set here' };
  if (from.kind === 'postgres') return null;
  const isConfigured = config.database.kind === 'sqlite' && isSamePlace(config.database, from);
  const path = join(isConfigured ? config.dataDir : dirname(from.path), 'master.key');
  const key = readKeyFile(path);
  return key === null ? null : { key, text: `"$(cat '${path}')"` };
}

function toText({ from, to, tables, key, readAt }: Done): string {
  const changed = tables.reduce((sum, { changedRows }) => sum + changedRows, 0);
  return `Copied ${nameOfPlace(from)} to ${nameOfPlace(to)}. Both sides were read and are the same:

${textTable(
  ['TABLE', 'ROWS', 'SHA-256'],
  tables.map(({ table, rows, checksum }) => [table, rows.toLocaleString('en'), checksum]),
)}
${changed === 0 ? '' : `${changed} rows had a NUL character, which PostgreSQL cannot keep: U+FFFD stands for it.\n`}Nothing that was written to the old database after ${readAt} is in the new one.
The master key is not copied. A service on the new database needs the same key, and the same SIGNET_PUBLIC_URL:
  SIGNET_MASTER_KEY  ${key?.text ?? 'as it was set for the old one'}${key === null ? ' (not checked: it is not set here)' : ''}
`;
}

function toJson({ from, to, tables, key, readAt }: Done): object {
  return {
    from: nameOfPlace(from),
    to: nameOfPlace(to),
    read_at: readAt,
    tables: tables.map(({ table, rows, checksum, changedRows }) => ({
      table,
      rows,
      sha256: checksum,
      rows_with_nul_replaced: changedRows,
    })),
    includes_master_key: false,
    is_master_key_checked: key !== null,
  };
}

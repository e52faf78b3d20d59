import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Database, DatabaseUnusable, type Queries } from './db/database.ts';
import { flushFolder } from './db/flush-folder.ts';
import { MASTER_KEY_BYTES, type MasterKey, seal, toMasterKey, unseal } from './encryption.ts';

const CHECK = 'master_key_check';

interface MasterKeySource {
  configured: MasterKey | null;
  /** The file that is read, or made, where none is configured. */
  path: string;
}

/**
 * The key that opens what the database holds: the configured one, or that of the file. Where the database is new and
 * there is neither, one is made; never where it is not, since another key would open nothing.
 */
export async function openMasterKey(database: Database, source: MasterKeySource): Promise<MasterKey> {
  const found = source.configured ?? readKeyFile(source.path);
  const sealed = await readCheck(database.reader);
  if (sealed === null) {
    const key = found ?? makeKeyFile(source.path);
    // Another instance may have been first, and then its key is what counts.
    return checked(key, await database.transaction((tx) => readOrWriteCheck(tx, key)));
  }
  if (found === null) throw missing(source.path);
  return checked(found, sealed);
}

/** The same for those who only read: they never make one. */
export async function findMasterKey(db: Queries, source: MasterKeySource): Promise<MasterKey> {
  const found = source.configured ?? readKeyFile(source.path);
  if (found === null) throw missing(source.path);
  await requireMasterKey(db, found);
  return found;
}

const missing = (path: string) =>
  new DatabaseUnusable(
    `The master key file ${path} is missing. Restore it, or set SIGNET_MASTER_KEY to the key of this database.`,
  );

/** Refuses a key that does not open what the database holds. A new one holds nothing yet. */
export async function requireMasterKey(db: Queries, key: MasterKey): Promise<void> {
  const sealed = await readCheck(db);
  if (sealed !== null) checked(key, sealed);
}

function checked(key: MasterKey, sealed: string): MasterKey {
  try {
    unseal(key, sealed, CHECK);
    return key;
  } catch (cause) {
    throw new DatabaseUnusable(
      'The master key is not the one of this database. Restore the key that it was made with.',
      { cause },
    );
  }
}

async function readCheck(db: Queries): Promise<string | null> {
  const row = await db
    .selectFrom('service_metadata')
    .select('value')
    .where('name', '=', CHECK)
    .executeTakeFirst();
  return row?.value ?? null;
}

async function readOrWriteCheck(tx: Queries, key: MasterKey): Promise<string> {
  const existing = await readCheck(tx);
  if (existing !== null) return existing;
  const value = seal(key, 'signet', CHECK);
  await tx.insertInto('service_metadata').values({ name: CHECK, value }).execute();
  return value;
}

export function readKeyFile(path: string): MasterKey | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new DatabaseUnusable(
      `The master key file ${path} cannot be read (${code}). See that it is a file that this user may read.`,
      { cause: error },
    );
  }
  const key = toMasterKey(text.trim());
  if (key !== null) return key;
  throw new DatabaseUnusable(
    `The master key file ${path} does not hold the base64 of ${MASTER_KEY_BYTES} bytes. Restore it from a copy.`,
  );
}

/**
 * On the disk before anything is encrypted with it: a crash must not leave a database without its key. It has its name only
 * once it is whole: a disk that fills up, or a crash, leaves none rather than half of one.
 */
function makeKeyFile(path: string): MasterKey {
  const key = randomBytes(MASTER_KEY_BYTES);
  const unfinished = `${path}.unfinished`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(unfinished, `${key.toString('base64')}\n`, { mode: 0o600, flush: true });
    renameSync(unfinished, path);
    flushFolder(dirname(path));
  } catch (cause) {
    rmSync(unfinished, { force: true });
    const { code } = cause as NodeJS.ErrnoException;
    throw new DatabaseUnusable(
      `The master key file ${path} cannot be made (${code}). See that this user may write in its folder, and that the disk is not full.`,
      { cause },
    );
  }
  return key as unknown as MasterKey;
}

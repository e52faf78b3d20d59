import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite, type SqliteDatabase } from '../../src/db/sqlite.ts';
import { type MasterKey, toMasterKey } from '../../src/encryption.ts';
import { KeyRing } from '../../src/keys/key-ring.ts';
import { createSigner } from '../../src/keys/signer.ts';
import { TestClock } from '../clock.ts';

export const ROTATION = 90 * 86_400_000;
export const LONGEST_TOKEN = 3_600_000;

export interface OpenRing {
  clock: TestClock;
  database: SqliteDatabase;
  masterKey: MasterKey;
  ring: KeyRing;
  /** Another ring on the same database, as another process would have. */
  another(masterKey?: MasterKey): Promise<KeyRing>;
  close(): Promise<void>;
}

export const newMasterKey = (): MasterKey => toMasterKey(randomBytes(32).toString('base64')) as MasterKey;

/** A key ring on a database of its own, without a service around it. */
export async function openRing(): Promise<OpenRing> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-keys-'));
  const database = await openSqlite(join(folder, 'signet.db'));
  const clock = new TestClock();
  const masterKey = newMasterKey();
  const another = async (key = masterKey) => {
    const ring = new KeyRing({
      database,
      clock,
      masterKey: key,
      sign: createSigner(availableParallelism()),
      rotationMilliseconds: ROTATION,
      longestTokenMilliseconds: LONGEST_TOKEN,
    });
    await ring.open();
    return ring;
  };
  return {
    clock,
    database,
    masterKey,
    ring: await another(),
    another,
    async close() {
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

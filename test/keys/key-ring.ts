import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { toConfig } from '../../src/config.ts';
import type { Database } from '../../src/db/database.ts';
import { type MasterKey, toMasterKey } from '../../src/encryption.ts';
import { KeyRing } from '../../src/keys/key-ring.ts';
import { createSigner } from '../../src/keys/signer.ts';
import { openDatabase } from '../../src/open-database.ts';
import { TestClock } from '../clock.ts';
import { createTestDatabase, temporaryFolder } from '../databases.ts';
import { storedSigningKey } from '../signing-keys.ts';

export const ROTATION = 90 * 86_400_000;
export const LONGEST_TOKEN = 3_600_000;

export interface OpenRing {
  clock: TestClock;
  database: Database;
  masterKey: MasterKey;
  ring: KeyRing;
  /** Another ring on the same database, as another process would have. */
  another(masterKey?: MasterKey): Promise<KeyRing>;
  close(): Promise<void>;
}

export const newMasterKey = (): MasterKey => toMasterKey(randomBytes(32).toString('base64')) as MasterKey;

/** A key ring on a database of its own, without a service around it. */
export async function openRing(): Promise<OpenRing> {
  const folder = temporaryFolder();
  const place = await createTestDatabase(folder);
  const { database } = await openDatabase(toConfig({ SIGNET_DATA_DIR: folder, ...place.env }).database);
  const clock = new TestClock();
  const masterKey = newMasterKey();
  const another = async (key = masterKey) => {
    const ring = new KeyRing({
      database,
      clock,
      masterKey: key,
      audit: new AuditLog({ clock, masterKey: key }),
      sign: createSigner(availableParallelism()),
      generateKey: storedSigningKey,
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
      await place.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

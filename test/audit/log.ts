import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { SERVICE } from '../../src/audit/actor.ts';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { ChainBroken, type Link } from '../../src/audit/chain.ts';
import { forgetOldEntries } from '../../src/audit/forget.worker.ts';
import { type Verified, verifyLog } from '../../src/audit/verify.ts';
import { toConfig } from '../../src/config.ts';
import type { Database, Queries } from '../../src/db/database.ts';
import { toMasterKey } from '../../src/encryption.ts';
import { openDatabase } from '../../src/open-database.ts';
import { TestClock } from '../clock.ts';
import { createTestDatabase, currentDatabase, temporaryFolder } from '../databases.ts';

const masterKey = toMasterKey(Buffer.alloc(32, 7).toString('base64')) ?? assert.fail();
export const KEPT_DAYS = 30;

export interface OpenLog {
  clock: TestClock;
  audit: AuditLog;
  /** On SQLite one; on PostgreSQL two, as two processes would have. */
  databases: readonly Database[];
  database: Database;
  /** Writes entries, numbered in their names, in one transaction. */
  write(count: number, name?: string): Promise<void>;
  verify(noted?: Link | null, db?: Queries): Promise<Verified>;
  /** Removes what is older than `KEPT_DAYS`. */
  forget(): Promise<void>;
  /** Where verifying fails after `harm`, which is undone; null where it does not fail. */
  brokenBy(harm: (tx: Queries) => Promise<unknown>, noted?: Link): Promise<number | null>;
  close(): Promise<void>;
}

/** An audit log on a database of its own, without a service around it. */
export async function openLog(): Promise<OpenLog> {
  const folder = temporaryFolder();
  const place = await createTestDatabase(folder);
  const config = toConfig({ SIGNET_DATA_DIR: folder, ...place.env }).database;
  const count = currentDatabase() === 'SQLite' ? 1 : 2;
  const opened: Database[] = [];
  for (let index = 0; index < count; index++) opened.push((await openDatabase(config)).database);
  const database = opened[0] as Database;
  const clock = new TestClock();
  const audit = new AuditLog({ clock, masterKey });
  const verify = (noted: Link | null = null, db = database.reader) =>
    verifyLog({ db, key: audit.key }, noted);
  return {
    clock,
    audit,
    databases: opened,
    database,
    write: (entries, name = 'agent') =>
      database.audited((tx) => audit.record(tx, SERVICE, ...changes(entries, name))),
    verify,
    forget: () => forgetOldEntries({ database, clock, key: audit.key, keptDays: KEPT_DAYS }),
    async brokenBy(harm, noted) {
      const undo = new Error('undo');
      let broken: number | null = null;
      const harmed = database.transaction(async (tx) => {
        await harm(tx);
        broken = await verify(noted, tx).then(() => null, positionOf);
        throw undo;
      });
      await assert.rejects(harmed, undo);
      return broken;
    },
    async close() {
      for (const each of opened) await each.close();
      await place.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const changes = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => ({
    action: 'agent.updated' as const,
    target: { kind: 'agent' as const, id: `agent_${index}`, name: `${name} ${index}` },
    organizationId: 'org_1',
    before: { name, index, same: true },
    after: { name: `${name}!`, index, same: true },
  }));

export function positionOf(error: unknown): number {
  if (error instanceof ChainBroken) return error.position;
  throw error;
}

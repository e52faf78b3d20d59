import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { AuditLog } from './audit/audit-log.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import type { MasterKey } from './encryption.ts';
import { KeyRing } from './keys/key-ring.ts';
import { createSigner } from './keys/signer.ts';
import { type GenerateKey, generateSigningKey } from './keys/signing-key.ts';
import { openMasterKey } from './master-key.ts';
import { LONGEST_TOKEN_SECONDS } from './organizations/organization.ts';

const DAY_MILLISECONDS = 86_400_000;
/**
 * A retired key signs on for a moment: for tokens that are being signed, and in a service that has yet to learn that
 * another process rotated, which takes a minute. Those tokens too are verified until their last second.
 */
const ROTATION_SLACK_MILLISECONDS = 90_000;

interface Opened {
  database: Database;
  clock: Clock;
}

/** The master key, and the audit log that it vouches for. */
export async function openAudit(
  config: Config,
  { database, clock }: Opened,
): Promise<{ masterKey: MasterKey; audit: AuditLog }> {
  const masterKey = await openMasterKey(database, masterKeySource(config));
  return { masterKey, audit: new AuditLog({ clock, masterKey }) };
}

/** The same, and the ring of signing keys that the master key opens. */
export async function openKeys(
  config: Config,
  { database, clock, generateKey = generateSigningKey }: Opened & { generateKey?: GenerateKey | undefined },
): Promise<{ masterKey: MasterKey; audit: AuditLog; keyRing: KeyRing }> {
  const { masterKey, audit } = await openAudit(config, { database, clock });
  const keyRing = new KeyRing({
    database,
    clock,
    masterKey,
    audit,
    sign: createSigner(signaturesAtOnce(config.processes)),
    generateKey,
    rotationMilliseconds: config.keyRotationDays * DAY_MILLISECONDS,
    longestTokenMilliseconds: LONGEST_TOKEN_SECONDS * 1000 + ROTATION_SLACK_MILLISECONDS,
  });
  await keyRing.open();
  return { masterKey, audit, keyRing };
}

export const masterKeySource = ({ masterKey, dataDir }: Config) => ({
  configured: masterKey,
  path: join(dataDir, 'master.key'),
});

/**
 * The share of one process: all together sign about as much at once as there are cores. Where each signed for all of
 * them, the threads that sign would keep the main threads of the other processes from answering. Rounded up, since a
 * core that idles while signatures wait costs more than one signature that shares its core.
 */
export const signaturesAtOnce = (processes: number): number => Math.ceil(availableParallelism() / processes);

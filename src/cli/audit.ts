import { ChainBroken, deriveChainKey, type Link } from '../audit/chain.ts';
import { type Verified, verifyLog } from '../audit/verify.ts';
import { findMasterKey } from '../master-key.ts';
import { masterKeySource } from '../open-keys.ts';
import type { CommandDeps, Outcome } from './command.ts';
import { withDatabase } from './database.ts';
import { CommandFailure } from './failure.ts';

/** Reads the whole log and holds each entry against the one before it, also while a service writes. */
export async function verifyAuditLog(
  { loadConfig }: Pick<CommandDeps, 'loadConfig'>,
  noted: Link | null,
): Promise<Outcome> {
  const config = loadConfig();
  const verified = await withDatabase(config, async ({ reader }) => {
    const key = deriveChainKey(await findMasterKey(reader, masterKeySource(config)));
    return verifyLog({ db: reader, key }, noted).catch(tellBreak);
  });
  return {
    text: describe(verified),
    json: { entries: verified.entries, removed: verified.anchor.position, head: verified.head },
  };
}

function describe({ entries, anchor, head }: Verified): string {
  const removed = anchor.position === 0 ? '' : ` ${anchor.position} older ones were removed for their age.`;
  return `The audit log is whole: ${entries} entries.${removed}\nIts head is ${head.position}:${head.hash}\n`;
}

function tellBreak(error: unknown): never {
  if (!(error instanceof ChainBroken)) throw error;
  throw new CommandFailure('audit_log_broken', error.message, { position: error.position });
}

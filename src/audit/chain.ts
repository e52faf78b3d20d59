import { createHmac, hkdfSync } from 'node:crypto';
import type { MasterKey } from '../encryption.ts';
import type { Account, AuditEntry } from './entry.ts';

/** Without it nobody can write an entry that fits, not even who may write the database. */
export type ChainKey = Buffer & { readonly __chainKey: unique symbol };

/** An entry by its place in the chain. */
export interface Link {
  position: number;
  hash: string;
}

/** `head`: the newest entry. `anchor`: the last one that was removed for its age. */
export type ChainEnd = 'head' | 'anchor';

/** Before the first entry. */
export const BEGINNING: Link = { position: 0, hash: '0'.repeat(64) };

/** An entry that is not what was written, or not where it was. */
export class ChainBroken extends Error {
  readonly position: number;

  constructor(position: number, message: string) {
    super(message);
    this.name = 'ChainBroken';
    this.position = position;
  }
}

export function deriveChainKey(masterKey: MasterKey): ChainKey {
  return Buffer.from(hkdfSync('sha256', masterKey, '', 'signet/audit-log/v1', 32)) as ChainKey;
}

export function hashOf(key: ChainKey, previousHash: string, account: Account): string {
  return createHmac('sha256', key).update(previousHash).update(canonical(account)).digest('hex');
}

/** Proves that whoever has the key made this entry an end of the chain. */
export function sealOf(key: ChainKey, end: ChainEnd, { position, hash }: Link): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([end, position, hash]))
    .digest('hex');
}

/** Holds entries against the one before them, and answers the last. */
export function follow(key: ChainKey, previous: Link, entries: readonly AuditEntry[]): Link {
  let last = previous;
  for (const entry of entries) {
    const expected = last.position + 1;
    if (entry.position !== expected) throw new ChainBroken(expected, `Entry ${expected} is missing.`);
    if (entry.previousHash !== last.hash || entry.hash !== hashOf(key, last.hash, entry)) {
      throw new ChainBroken(expected, `Entry ${expected} is not the one that was written there.`);
    }
    last = entry;
  }
  return { position: last.position, hash: last.hash };
}

/** One spelling for each account: a list, in an order that never changes. */
function canonical({ actor, target, ...account }: Account): string {
  return JSON.stringify([
    account.position,
    account.createdAt,
    actor.kind,
    actor.id,
    actor.name,
    account.action,
    target.kind,
    target.id,
    target.name,
    account.organizationId,
    actor.requestId,
    actor.address,
    account.before,
    account.after,
  ]);
}

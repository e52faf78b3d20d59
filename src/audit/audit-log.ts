import type { Clock } from '../clock.ts';
import type { Queries } from '../db/database.ts';
import type { MasterKey } from '../encryption.ts';
import type { Actor } from './actor.ts';
import { insertEntries, reservePositions, writeEnd } from './audit.store.ts';
import { type ChainKey, deriveChainKey, hashOf, type Link, sealOf } from './chain.ts';
import { type AuditEntry, type Change, differences } from './entry.ts';

/** Writes down who did what, in the transaction that does it: neither stands without the other. */
export class AuditLog {
  /** What the chain is made with, and verified. */
  readonly key: ChainKey;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(deps: { clock: Pick<Clock, 'now'>; masterKey: MasterKey }) {
    this.key = deriveChainKey(deps.masterKey);
    this.#clock = deps.clock;
  }

  /**
   * Of a change with both states only what differs is kept; where nothing does, nothing was done and nothing is written.
   * Best the last thing in its transaction: all other writers of the log wait from here to its end.
   */
  async record(tx: Queries, by: Actor, ...changes: readonly Change[]): Promise<void> {
    const told = changes.flatMap((change) => {
      const fields = differences(change);
      return fields === null ? [] : [{ ...change, ...fields }];
    });
    if (told.length === 0) return;
    let last = await reservePositions(tx, told.length);
    const entries = told.map((change) => {
      const entry = this.#entryAfter(last, by, change);
      last = entry;
      return entry;
    });
    await insertEntries(tx, entries);
    await writeEnd(tx, 'head', last, sealOf(this.key, 'head', last));
  }

  #entryAfter(previous: Link, by: Actor, change: Change): AuditEntry {
    const account = {
      position: previous.position + 1,
      createdAt: this.#clock.now(),
      actor: { ...by, name: storable(by.name) },
      action: change.action,
      target: { ...change.target, name: storable(change.target.name) },
      organizationId: change.organizationId ?? null,
      before: toJson(change.before),
      after: toJson(change.after),
    };
    return { ...account, previousHash: previous.hash, hash: hashOf(this.key, previous.hash, account) };
  }
}

/** What is hashed must come back from every database as it went in. JSON has an escape for what does not. */
const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');

const toJson = (fields: Change['before']): string | null =>
  fields === null || fields === undefined ? null : JSON.stringify(fields);

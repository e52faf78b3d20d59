import type { Queries } from '../db/database.ts';
import { findEnd, hasEntryUpTo, listEntriesAfter } from './audit.store.ts';
import { BEGINNING, ChainBroken, type ChainEnd, type ChainKey, follow, type Link, sealOf } from './chain.ts';
import type { AuditEntry } from './entry.ts';

interface Deps {
  db: Queries;
  key: ChainKey;
}

export interface Verified {
  entries: number;
  /** The last entry that was removed for its age. */
  anchor: Link;
  head: Link;
}

/** Entries in memory at once. */
const PAGE = 500;

/**
 * Reads the whole log and throws `ChainBroken` at the first entry that does not fit. A service may write and prune
 * meanwhile. `noted` is a head that was seen earlier, and must be in the log still.
 */
export async function verifyLog(deps: Deps, noted: Link | null = null): Promise<Verified> {
  let anchor = await readEnd(deps, 'anchor');
  refuseNotedBefore(anchor, noted);
  if (await hasEntryUpTo(deps.db, anchor.position)) {
    throw new ChainBroken(
      anchor.position,
      `There is an entry at or before position ${anchor.position}, where the log begins.`,
    );
  }
  let last = anchor;
  let entries = 0;
  for (;;) {
    const page = await listEntriesAfter(deps.db, last.position, PAGE);
    if (page.length === 0 && (await isAtHead(deps, last))) break;
    if (page[0]?.position !== last.position + 1) {
      anchor = await anchorAfter(deps, last);
      last = anchor;
      continue;
    }
    last = follow(deps.key, last, page);
    entries += page.length;
    refuseOtherThan(noted, page);
  }
  if (noted !== null && noted.position > last.position) {
    throw new ChainBroken(last.position + 1, `The log ends before entry ${noted.position}, the noted head.`);
  }
  return { entries, anchor, head: last };
}

/** What the database says that an end is, where its seal proves it. */
export async function readEnd({ db, key }: Deps, name: ChainEnd): Promise<Link> {
  const end = await findEnd(db, name);
  if (end === null) return BEGINNING;
  const link = { position: end.position, hash: end.hash };
  if (end.seal === sealOf(key, name, link)) return link;
  throw new ChainBroken(
    end.position,
    `The ${name} of the log, entry ${end.position}, was not written by Signet.`,
  );
}

/** Entries and their head are one transaction, so a head that is read after the last entry is never behind it. */
async function isAtHead(deps: Deps, last: Link): Promise<boolean> {
  const head = await readEnd(deps, 'head');
  if (head.position === last.position && head.hash === last.hash) return true;
  if (head.position > last.position) return false;
  throw new ChainBroken(last.position, `Entry ${last.position} is not the newest that the log knows of.`);
}

/** Where the next entry is not there: new since the last look, removed for its age meanwhile, or missing. */
async function anchorAfter(deps: Deps, last: Link): Promise<Link> {
  const anchor = await readEnd(deps, 'anchor');
  if (anchor.position > last.position) return anchor;
  const [next] = await listEntriesAfter(deps.db, last.position, 1);
  if (next?.position === last.position + 1) return last;
  throw new ChainBroken(last.position + 1, `Entry ${last.position + 1} is missing.`);
}

function refuseNotedBefore(anchor: Link, noted: Link | null): void {
  if (noted === null || noted.position > anchor.position) return;
  if (noted.position === anchor.position && noted.hash === anchor.hash) return;
  throw new ChainBroken(
    noted.position,
    noted.position === anchor.position
      ? `Entry ${noted.position} is not the noted head.`
      : `Entry ${noted.position}, the noted head, was removed for its age. Note a newer one.`,
  );
}

function refuseOtherThan(noted: Link | null, page: readonly AuditEntry[]): void {
  const found = page.find(({ position }) => position === noted?.position);
  if (found === undefined || found.hash === noted?.hash) return;
  throw new ChainBroken(found.position, `Entry ${found.position} is not the noted head.`);
}

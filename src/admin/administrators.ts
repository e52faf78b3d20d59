import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { SERVICE } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Clock } from '../clock.ts';
import type { Database } from '../db/database.ts';
import { temporarilyUnavailable } from '../errors.ts';
import type { Ids } from '../ids.ts';
import type { Administrator } from './administrator.ts';
import { addFirstAdministrator } from './administrators.service.ts';
import { findAdministrator, findFirstAdministrator } from './administrators.store.ts';
import { UNKNOWN_HASH, verifyPassword } from './password.ts';

interface Deps {
  database: Database;
  clock: Clock;
  ids: Ids;
  audit: AuditLog;
}

/** How long credentials that were right are taken as right without hashing again. */
const REMEMBER_MILLISECONDS = 60_000;
const REMEMBERED = 1000;
/** Hashes at once: a guesser gets half of the threads at most, and the rest sign tokens. */
const HASHES_AT_ONCE = 2;
const HASHES_WAITING = 50;

/** Who may manage the service. A password check costs 20 ms of CPU, so it is bounded and its successes are remembered. */
export class Administrators {
  readonly #deps: Deps;
  /** From a keyed digest of the credentials to the stored hash that they were right for. */
  readonly #verified = new LRUCache<string, { passwordHash: string; until: number }>({ max: REMEMBERED });
  readonly #cacheKey = randomBytes(32);
  #hashing = 0;
  readonly #waiting: Array<() => void> = [];

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** The administrator of these credentials, or null where they are wrong. */
  async authenticate(email: string, password: string): Promise<Administrator | null> {
    const administrator = await findAdministrator(this.#deps.database.reader, email);
    const key = createHmac('sha256', this.#cacheKey)
      .update(JSON.stringify([email, password]))
      .digest('base64');
    if (administrator !== null && this.#isVerified(key, administrator)) return administrator;
    const passwordHash = administrator?.passwordHash ?? UNKNOWN_HASH;
    const isRight = await this.#oneOfFew(() => verifyPassword(password, passwordHash));
    if (!isRight || administrator === null) return null;
    this.#verified.set(key, { passwordHash, until: this.#deps.clock.now() + REMEMBER_MILLISECONDS });
    return administrator;
  }

  /** Makes the first administrator; where there is one already, answers who it is and changes nothing. */
  async ensureFirst(first: { email: string; password: string }): Promise<{ email: string; isNew: boolean }> {
    const existing = await findFirstAdministrator(this.#deps.database.reader);
    if (existing !== null) return { email: existing, isNew: false };
    return addFirstAdministrator(this.#deps, first, SERVICE);
  }

  /** A password that changed, or an administrator who went, makes what is remembered worthless at once. */
  #isVerified(key: string, administrator: Administrator): boolean {
    const entry = this.#verified.get(key);
    return entry?.passwordHash === administrator.passwordHash && entry.until > this.#deps.clock.now();
  }

  async #oneOfFew<T>(run: () => Promise<T>): Promise<T> {
    if (this.#waiting.length >= HASHES_WAITING) throw temporarilyUnavailable();
    if (this.#hashing >= HASHES_AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#hashing += 1;
    try {
      return await run();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#hashing -= 1;
      else next();
    }
  }
}

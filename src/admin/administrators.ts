import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { SERVICE } from '../audit/actor.ts';
import { temporarilyUnavailable } from '../errors.ts';
import { digestSecret, hasValidChecksum } from '../ids.ts';
import { type Administrator, lowerRole } from './administrator.ts';
import { type AdministratorsDeps, addFirstAdministrator } from './administrators.service.ts';
import { findAdministrator, findFirstAdministrator } from './administrators.store.ts';
import { API_KEY_PREFIX, type ApiKey, isLiving } from './api-key.ts';
import { findApiKey, touchApiKey } from './api-keys.store.ts';
import type { Caller } from './caller.ts';
import { GuessLimits } from './guess-limits.ts';
import { UNKNOWN_HASH, verifyPassword } from './password.ts';

export interface PasswordLogin {
  email: string;
  password: string;
  /** Where the request comes from. */
  address: string;
}

export interface KeyLogin {
  secret: string;
  /** Whose key it is said to be; null where nothing is said. */
  email: string | null;
  address: string;
}

/** How long credentials that were right are taken as right without hashing again. */
const REMEMBER_MILLISECONDS = 60_000;
const REMEMBERED = 1000;
/** Hashes at once: a guesser gets half of the threads at most, and the rest sign tokens. */
const HASHES_AT_ONCE = 2;
const HASHES_WAITING = 50;
const USE_STEP_MILLISECONDS = 60_000;

/** Who may manage the service. A password check costs 20 ms of CPU, so it is bounded and its successes are remembered. */
export class Administrators {
  readonly #deps: AdministratorsDeps;
  readonly #limits: GuessLimits;
  /** From a keyed digest of credentials and address to the stored hash that they were right for. */
  readonly #verified = new LRUCache<string, { passwordHash: string; until: number }>({ max: REMEMBERED });
  /** Those who send the same at once, as scripts do that have just started, share one check. */
  readonly #underWay = new Map<string, Promise<boolean>>();
  readonly #cacheKey = randomBytes(32);
  #hashing = 0;
  readonly #waiting: Array<() => void> = [];

  constructor(deps: AdministratorsDeps) {
    this.#deps = deps;
    this.#limits = new GuessLimits(deps.clock);
  }

  /** The administrator of these credentials, or null where they are wrong; throws where their sender has to wait. */
  async authenticate(login: PasswordLogin): Promise<Caller | null> {
    const administrator = await findAdministrator(this.#deps.database.reader, { email: login.email });
    const passwordHash = administrator?.passwordHash ?? UNKNOWN_HASH;
    const key = this.#digest(login, passwordHash);
    if (!this.#isRemembered(key, login)) {
      if (!(await this.#sharedCheck(key, login, passwordHash)) || administrator === null) return null;
      this.#verified.set(key, { passwordHash, until: this.#deps.clock.now() + REMEMBER_MILLISECONDS });
    }
    return administrator === null ? null : toCaller(administrator, null);
  }

  /** Nobody guesses 256 bits, so keys are never slowed. */
  async authenticateKey(login: KeyLogin): Promise<Caller | null> {
    const found = await this.#findLiving(login);
    if (found === null) {
      this.#limits.countWrongKey(login.address);
      return null;
    }
    await this.#noteUse(found.key);
    return toCaller(found.administrator, found.key);
  }

  /** Makes the first administrator; where there is one already, answers who it is and changes nothing. */
  async ensureFirst(first: { email: string; password: string }): Promise<{ email: string; isNew: boolean }> {
    const existing = await findFirstAdministrator(this.#deps.database.reader);
    if (existing !== null) return { email: existing, isNew: false };
    return addFirstAdministrator(this.#deps, first, SERVICE);
  }

  #digest({ email, password, address }: PasswordLogin, passwordHash: string): string {
    return createHmac('sha256', this.#cacheKey)
      .update(JSON.stringify([email.toLowerCase(), password, address, passwordHash]))
      .digest('base64');
  }

  /** The stored hash is a part of the digest: a password that changed voids what is remembered at once. */
  #isRemembered(key: string, { email, address }: PasswordLogin): boolean {
    const entry = this.#verified.get(key);
    if (entry === undefined || entry.until <= this.#deps.clock.now()) return false;
    return this.#limits.trustsRemembered(email, address);
  }

  #sharedCheck(key: string, login: PasswordLogin, passwordHash: string): Promise<boolean> {
    const earlier = this.#underWay.get(key);
    if (earlier !== undefined) return earlier;
    const check = this.#check(login, passwordHash).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, check);
    return check;
  }

  async #check({ email, password, address }: PasswordLogin, passwordHash: string): Promise<boolean> {
    const attempt = this.#limits.begin(email, address);
    try {
      const isRight = await this.#oneOfFew(() => verifyPassword(password, passwordHash));
      if (isRight) attempt.right();
      else attempt.wrong();
      return isRight;
    } catch (error) {
      attempt.undone();
      throw error;
    }
  }

  async #findLiving({ secret, email }: KeyLogin): Promise<Awaited<ReturnType<typeof findApiKey>>> {
    if (!isApiKey(secret)) return null;
    const found = await findApiKey(this.#deps.database.reader, digestSecret(secret));
    if (found === null || !isLiving(found.key, this.#deps.clock.now())) return null;
    return email === null || found.administrator.email === email.toLowerCase() ? found : null;
  }

  async #noteUse({ id, lastUsedAt }: ApiKey): Promise<void> {
    const now = this.#deps.clock.now();
    const notSince = now - USE_STEP_MILLISECONDS;
    if (lastUsedAt !== null && lastUsedAt > notSince) return;
    await this.#deps.database.readCommitted((tx) => touchApiKey(tx, { id, now, notSince }));
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

/** In the place of a password it is told by its form: the checksum leaves no doubt. */
export const isApiKey = (secret: string): boolean =>
  secret.startsWith(API_KEY_PREFIX) && hasValidChecksum(secret.slice(API_KEY_PREFIX.length));

const toCaller = (administrator: Administrator, key: ApiKey | null): Caller => ({
  id: administrator.id,
  email: administrator.email,
  role: lowerRole(administrator.role, key?.role ?? administrator.role),
  organizationId: administrator.organizationId,
  key,
});

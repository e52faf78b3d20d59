import { createPrivateKey, type KeyObject, verify } from 'node:crypto';
import { type Actor, SERVICE } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Change, Fields } from '../audit/entry.ts';
import type { Clock } from '../clock.ts';
import { coalesce } from '../db/coalesce.ts';
import type { Database } from '../db/database.ts';
import { type MasterKey, seal, unseal } from '../encryption.ts';
import { activateNextKey, insertKey, listKeys, removeRetiredKeys, retireActiveKey } from './keys.store.ts';
import { type GenerateKey, type PublicJwk, type SigningKey, toPublicKey } from './signing-key.ts';

interface Deps {
  database: Database;
  clock: Clock;
  masterKey: MasterKey;
  audit: AuditLog;
  sign: (data: Buffer, key: KeyObject) => Promise<Buffer>;
  generateKey: GenerateKey;
  /** How long a key signs before the next takes over, in milliseconds. */
  rotationMilliseconds: number;
  /** No token of any organization lives longer; a retired key is published for as long. */
  longestTokenMilliseconds: number;
}

interface Ring {
  keys: readonly SigningKey[];
  active: { encodedHeader: string; privateKey: KeyObject };
  /** By the encoded header of the tokens that they verify. */
  publicKeys: ReadonlyMap<string, KeyObject>;
}

/** The keys that sign and verify, kept in the database and, opened, in memory. */
export class KeyRing {
  readonly #deps: Deps;
  #ring: Ring | null = null;
  #changing: Promise<void> = Promise.resolve();
  readonly #refresh = coalesce<null, null>(async (asked) => {
    await this.#reread();
    return asked;
  });

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Makes the first keys where there are none. */
  async open(): Promise<void> {
    const keys = await listKeys(this.#deps.database.reader);
    if (keys.length === 0) await this.#createFirstKeys();
    await this.#reload();
  }

  /** The keys of the JWKS, those that may verify a token that still lives. */
  get publicJwks(): PublicJwk[] {
    return this.#opened.keys.map((key) => key.publicJwk);
  }

  get keys(): readonly SigningKey[] {
    return this.#opened.keys;
  }

  /** RFC 7515 §7.1: the compact serialization of a JWS over `payload`, typed as RFC 9068 §2.1 says. */
  async sign(payload: object): Promise<string> {
    const { encodedHeader, privateKey } = this.#opened.active;
    const signingInput = `${encodedHeader}.${encode(JSON.stringify(payload))}`;
    const signature = await this.#deps.sign(Buffer.from(signingInput), privateKey);
    return `${signingInput}.${signature.toString('base64url')}`;
  }

  /**
   * The payload of a JWS that this ring has signed, or null. The header is not interpreted: it must be, to the letter,
   * one that this ring writes, so that no `alg`, `kid`, `jku` or `jwk` of a stranger is ever looked at.
   */
  verify(token: string): unknown {
    const [header, payload, signature, ...rest] = token.split('.');
    if (header === undefined || payload === undefined || signature === undefined || rest.length > 0)
      return null;
    const publicKey = this.#opened.publicKeys.get(header);
    if (publicKey === undefined) return null;
    const signingInput = Buffer.from(`${header}.${payload}`);
    const signatureBytes = Buffer.from(signature, 'base64url');
    // Node's decoder forgives padding, white space and stray bits; a token has one spelling.
    if (signatureBytes.toString('base64url') !== signature) return null;
    const isOurs = verify('sha256', signingInput, publicKey, signatureBytes);
    return isOurs ? JSON.parse(Buffer.from(payload, 'base64url').toString()) : null;
  }

  /** Whether a token looks like one of ours, by a key that this ring does not hold. */
  isOfUnknownKey(token: string): boolean {
    const header = token.slice(0, token.indexOf('.'));
    const hasForm = header.length === HEADER_LENGTH && header.startsWith(HEADER_START);
    return hasForm && !this.#opened.publicKeys.has(header);
  }

  /** Reads what other processes may have rotated since. Who asks while a reading is under way shares the next. */
  async refresh(): Promise<void> {
    await this.#refresh(null);
  }

  /** `next` begins to sign, `active` retires, and a new `next` is published. */
  async rotate(by: Actor): Promise<void> {
    await this.#rotateFrom(null, by);
  }

  /**
   * Takes over what another process has rotated, rotates where the active key's time has come, and forgets keys whose
   * last token has expired.
   */
  async maintain(): Promise<void> {
    const { database, clock, rotationMilliseconds } = this.#deps;
    await this.#reread();
    const now = clock.now();
    const active = activeKey(this.#opened.keys);
    if ((active.activatedAt ?? active.createdAt) + rotationMilliseconds <= now) {
      await this.#rotateFrom(active.kid, SERVICE);
    }
    if (!this.#opened.keys.some((key) => key.removeAt !== null && key.removeAt <= now)) return;
    await database.transaction((tx) => removeRetiredKeys(tx, now));
    await this.#reread();
  }

  get #opened(): Ring {
    if (this.#ring === null) throw new Error('The key ring is not open.');
    return this.#ring;
  }

  /** One at a time: a key is published by one rotation before the next can let it sign. */
  #rotateFrom(kid: string | null, by: Actor): Promise<void> {
    return this.#oneAtATime(() => this.#rotateNow(kid, by));
  }

  /** In turn with rotations. */
  #reread(): Promise<void> {
    return this.#oneAtATime(() => this.#reload());
  }

  #oneAtATime(change: () => Promise<void>): Promise<void> {
    const changed = this.#changing.then(change);
    this.#changing = changed.catch(() => {});
    return changed;
  }

  /** Where `kid` is given and no longer active, another has rotated already and nothing is left to do. */
  async #rotateNow(kid: string | null, by: Actor): Promise<void> {
    const { database, clock, longestTokenMilliseconds, audit } = this.#deps;
    const next = await this.#newKey('next');
    await database.audited(async (tx) => {
      const before = await listKeys(tx);
      if (kid !== null && activeKey(before).kid !== kid) return;
      const now = clock.now();
      await retireActiveKey(tx, { retiredAt: now, removeAt: now + longestTokenMilliseconds });
      await activateNextKey(tx, now);
      await insertKey(tx, next);
      await audit.record(tx, by, rotationOf(before, await listKeys(tx)));
    });
    await this.#reload();
  }

  async #createFirstKeys(): Promise<void> {
    const [active, next] = await Promise.all([this.#newKey('active'), this.#newKey('next')]);
    await this.#deps.database.transaction(async (tx) => {
      // Another instance may have made them meanwhile.
      if ((await listKeys(tx)).length > 0) return;
      await insertKey(tx, active);
      await insertKey(tx, next);
    });
  }

  async #newKey(status: 'active' | 'next'): Promise<SigningKey> {
    const { publicJwk, privateKey } = await this.#deps.generateKey();
    const now = this.#deps.clock.now();
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    return {
      kid: publicJwk.kid,
      status,
      publicJwk,
      sealedPrivateKey: seal(this.#deps.masterKey, pem, sealContext(publicJwk.kid)),
      createdAt: now,
      activatedAt: status === 'active' ? now : null,
      retiredAt: null,
      removeAt: null,
    };
  }

  async #reload(): Promise<void> {
    const keys = await listKeys(this.#deps.database.reader);
    if (this.#ring !== null && isSame(keys, this.#ring.keys)) return;
    const active = activeKey(keys);
    this.#ring = {
      keys,
      active: {
        encodedHeader: encodedHeader(active.kid),
        privateKey: createPrivateKey(
          unseal(this.#deps.masterKey, active.sealedPrivateKey, sealContext(active.kid)),
        ),
      },
      publicKeys: new Map(keys.map((key) => [encodedHeader(key.kid), toPublicKey(key.publicJwk)])),
    };
  }
}

function rotationOf(before: readonly SigningKey[], after: readonly SigningKey[]): Change {
  const { kid } = activeKey(after);
  return {
    action: 'signing_key.rotated',
    target: { kind: 'signing_key', id: kid, name: kid },
    before: kidsByStatus(before),
    after: kidsByStatus(after),
  };
}

const kidsByStatus = (keys: readonly SigningKey[]): Fields => ({
  active: activeKey(keys).kid,
  next: keys.find(({ status }) => status === 'next')?.kid ?? null,
});

function activeKey(keys: readonly SigningKey[]): SigningKey {
  const active = keys.find((key) => key.status === 'active');
  if (active === undefined) throw new Error('The database holds no active signing key.');
  return active;
}

/** A key is what its identifier says; only its status and its times change. */
const isSame = (some: readonly SigningKey[], others: readonly SigningKey[]): boolean =>
  some.length === others.length &&
  some.every(({ kid, status }, index) => kid === others[index]?.kid && status === others[index]?.status);

const encode = (text: string): string => Buffer.from(text).toString('base64url');

const encodedHeader = (kid: string): string => encode(JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid }));

const sealContext = (kid: string): string => `signing_keys/${kid}`;

/** A thumbprint (RFC 7638) by SHA-256 has 43 letters, and whole groups of three bytes before it encode alike. */
const HEADER_LENGTH = encodedHeader('x'.repeat(43)).length;
const HEADER_START = encodedHeader('').slice(0, 48);

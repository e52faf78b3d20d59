import { hash, randomFillSync, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Clock } from './clock.ts';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** Secrets leave the service once; only their digest is stored. The brands keep the two apart. */
export type ClientSecret = Branded<'ClientSecret'>;
export type ApiKeySecret = Branded<'ApiKeySecret'>;
export type RefreshTokenSecret = Branded<'RefreshTokenSecret'>;
export type SecretDigest = Branded<'SecretDigest'>;

export type IdPrefix =
  | 'agent'
  | 'org'
  | 'team'
  | 'webhook'
  | 'delivery'
  | 'evt'
  | 'key'
  | 'admin'
  | 'cid'
  | 'req';

/** The source of every identifier and secret; tests give it a clock and, where they must, its random bytes. */
export interface Ids {
  /** `prefix_` and 26 characters that sort by time of creation, also within one millisecond. */
  newId(prefix: IdPrefix): string;
  /** The 26 characters alone. */
  newSortable(): string;
  /** `cs_`, 256 random bits, a checksum of 32 bits. */
  newClientSecret(): ClientSecret;
  /** `sk_`, 256 random bits, a checksum of 32 bits. */
  newApiKeySecret(): ApiKeySecret;
  /** 256 random bits and a checksum; the refresh token is `rt_ROW_` and this. */
  newRefreshTokenSecret(): RefreshTokenSecret;
  /** `whsec_` and base64 of 33 random bytes, so that no padding appears. */
  newWebhookSecret(): string;
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** What follows an identifier's prefix: a UUIDv7 in Crockford base32 (the TypeID suffix). */
export const SORTABLE_PATTERN = '[0-7][0-9a-hjkmnp-tv-z]{25}';

export function createIds(
  clock: Pick<Clock, 'now'>,
  random: (size: number) => Uint8Array = pooledRandom(),
): Ids {
  const newSortable = sortableGenerator(clock, random);
  const secret = () => withChecksum(base32(random(32)));
  return {
    newSortable,
    newId: (prefix) => `${prefix}_${newSortable()}`,
    newClientSecret: () => `cs_${secret()}` as ClientSecret,
    newApiKeySecret: () => `sk_${secret()}` as ApiKeySecret,
    newRefreshTokenSecret: () => secret() as RefreshTokenSecret,
    newWebhookSecret: () => `whsec_${Buffer.from(random(33)).toString('base64')}`,
  };
}

/** SHA-256 is enough for 256 random bits: nobody can guess them, however fast the hash. */
export function digestSecret(secret: string): SecretDigest {
  return hash('sha256', secret, 'base64url') as SecretDigest;
}

export function isSameDigest(a: SecretDigest, b: SecretDigest): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

/** True where the last seven characters are the checksum of the rest: a mistyped secret is told from a wrong one. */
export function hasValidChecksum(secret: string): boolean {
  return secret.length > CHECKSUM_LENGTH && withChecksum(secret.slice(0, -CHECKSUM_LENGTH)) === secret;
}

const POOL_BYTES = 4096;

/** Asked for a few bytes at a time, the generator of OpenSSL costs a hundred times as much. No byte is used twice. */
function pooledRandom(): (size: number) => Uint8Array {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  return (size) => {
    if (used + size > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const bytes = Uint8Array.from(pool.subarray(used, used + size));
    pool.fill(0, used, used + size);
    used += size;
    return bytes;
  };
}

const CHECKSUM_LENGTH = 7;

function withChecksum(text: string): string {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(text));
  return text + base32(checksum);
}

/**
 * UUIDv7 (RFC 9562 §5.7): 48 bits of milliseconds, then 74 random bits. Within one millisecond the random part
 * counts up instead (§6.2, method 2), and a clock that goes back does not take the order with it.
 */
function sortableGenerator(clock: Pick<Clock, 'now'>, random: (size: number) => Uint8Array): () => string {
  let lastMilliseconds = -1;
  let tail = new Uint8Array(10);
  return () => {
    const now = clock.now();
    if (now > lastMilliseconds) {
      lastMilliseconds = now;
      tail = freshTail(random);
    } else if (!increment(tail)) {
      lastMilliseconds += 1;
      tail = freshTail(random);
    }
    return encodeUuid(lastMilliseconds, tail);
  };
}

function freshTail(random: (size: number) => Uint8Array): Uint8Array<ArrayBuffer> {
  const tail = Uint8Array.from(random(10));
  tail[0] = 0x70 | ((tail[0] as number) & 0x07); // version 7; the top random bit stays clear, as room to count
  tail[2] = 0x80 | ((tail[2] as number) & 0x3f); // RFC 9562 variant
  return tail;
}

/** Adds one to the last 56 random bits; false when they are used up. */
function increment(tail: Uint8Array): boolean {
  for (let index = 9; index > 2; index--) {
    const next = ((tail[index] as number) + 1) & 0xff;
    tail[index] = next;
    if (next !== 0) return true;
  }
  return false;
}

function encodeUuid(milliseconds: number, tail: Uint8Array): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(milliseconds, 0, 6);
  bytes.set(tail, 6);
  return base32(bytes, 130);
}

/** Crockford base32, lower case; `bits` pads at the front, as TypeID does for the 128 bits of a UUID. */
function base32(bytes: Uint8Array, bits = Math.ceil((bytes.length * 8) / 5) * 5): string {
  let text = '';
  let buffer = 0;
  let held = bits - bytes.length * 8;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    held += 8;
    while (held >= 5) {
      held -= 5;
      text += ALPHABET[(buffer >> held) & 31];
    }
    buffer &= (1 << held) - 1;
  }
  return text;
}

import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const argon2id = promisify(argon2);

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const TAG_BYTES = 32;

interface Parameters {
  memory: number;
  passes: number;
  parallelism: number;
}

export type HashPassword = (password: string) => Promise<string>;

/** The PHC string of a new hash. */
export async function hashPassword(password: string, parameters: Parameters = PARAMETERS): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return formatHash(parameters, salt, await derive(password, salt, parameters));
}

export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const { parameters, salt, tag } = parseHash(stored);
  return timingSafeEqual(await derive(password, salt, parameters), tag);
}

/** One that nobody guesses: 144 random bits. */
export const generatePassword = (): string => randomBytes(18).toString('base64url');

/** Of nobody's password: an unknown administrator costs the same work as a known one. */
export const UNKNOWN_HASH = formatHash(PARAMETERS, randomBytes(SALT_BYTES), randomBytes(TAG_BYTES));

function derive(password: string, salt: Buffer, parameters: Parameters): Promise<Buffer> {
  return argon2id('argon2id', { message: password, nonce: salt, tagLength: TAG_BYTES, ...parameters });
}

function formatHash({ memory, passes, parallelism }: Parameters, salt: Buffer, tag: Buffer): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`;
}

const HASH = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

function parseHash(stored: string): { parameters: Parameters; salt: Buffer; tag: Buffer } {
  const [, memory, passes, parallelism, salt, tag] = HASH.exec(stored) ?? [];
  if (salt === undefined || tag === undefined)
    throw new Error('A stored password hash is not an argon2id one.');
  return {
    parameters: { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

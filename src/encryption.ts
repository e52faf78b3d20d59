import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** 32 bytes; encrypts what must be read back: private keys and webhook secrets. */
export type MasterKey = Buffer & { readonly __masterKey: unique symbol };

export const MASTER_KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM; `context` names the row, so that a sealed value cannot be moved to another one. */
export function seal(masterKey: MasterKey, plaintext: string, context: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', masterKey, nonce).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([
    nonce,
    cipher.update(plaintext, 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return `v1.${sealed.toString('base64url')}`;
}

/** The plaintext; throws where key, context or value is not the one that was sealed. */
export function unseal(masterKey: MasterKey, sealed: string, context: string): string {
  if (!sealed.startsWith('v1.')) throw new Error('The value was sealed by a newer version.');
  const bytes = Buffer.from(sealed.slice(3), 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', masterKey, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString(
    'utf8',
  );
}

export function toMasterKey(base64: string): MasterKey | null {
  const bytes = Buffer.from(base64, 'base64');
  const isExact = bytes.length === MASTER_KEY_BYTES && bytes.toString('base64') === base64;
  return isExact ? (bytes as MasterKey) : null;
}

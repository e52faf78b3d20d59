import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint';

/** RFC 7517: what the JWKS publishes of a key. */
export interface PublicJwk {
  kty: 'RSA';
  kid: string;
  use: 'sig';
  alg: 'RS256';
  n: string;
  e: string;
}

/**
 * `next` is published and waits; `active` signs; `retiring` signs no more and stays published until the last token
 * that it signed has expired.
 */
export type SigningKeyStatus = 'next' | 'active' | 'retiring';

export interface SigningKey {
  kid: string;
  status: SigningKeyStatus;
  publicJwk: PublicJwk;
  /** PKCS #8, PEM, sealed with the master key. */
  sealedPrivateKey: string;
  createdAt: number;
  activatedAt: number | null;
  retiredAt: number | null;
  removeAt: number | null;
}

/** A key that nobody else has. Making one takes tens of milliseconds. */
export type GenerateKey = () => Promise<{ publicJwk: PublicJwk; privateKey: KeyObject }>;

const generate = promisify(generateKeyPair);

export const generateSigningKey: GenerateKey = async () => {
  const { privateKey } = await generate('rsa', { modulusLength: 2048, publicExponent: 0x10001 });
  return withPublicJwk(privateKey);
};

export async function withPublicJwk(privateKey: KeyObject): ReturnType<GenerateKey> {
  const { n, e } = createPublicKey(privateKey).export({ format: 'jwk' }) as { n: string; e: string };
  // RFC 7638: the thumbprint names the key by what it is.
  const kid = await calculateJwkThumbprint({ kty: 'RSA', n, e });
  return { publicJwk: { kty: 'RSA', kid, use: 'sig', alg: 'RS256', n, e }, privateKey };
}

export const toPublicKey = (jwk: PublicJwk): KeyObject => createPublicKey({ key: { ...jwk }, format: 'jwk' });

import { digestSecret, hasValidChecksum, type RefreshTokenSecret, type SecretDigest } from '../ids.ts';

/** `rt_ROW_SECRET`: the row's number finds it without an index on the digest; the secret proves it. */
export interface RefreshTokenParts {
  id: number;
  digest: SecretDigest;
}

const FORMAT = /^rt_([1-9a-z][0-9a-z]{0,9})_([0-9a-z]{59})$/;

export const formatRefreshToken = (id: number, secret: RefreshTokenSecret): string =>
  `rt_${id.toString(36)}_${secret}`;

export function parseRefreshToken(token: string): RefreshTokenParts | null {
  const [, id, secret] = FORMAT.exec(token) ?? [];
  if (id === undefined || secret === undefined || !hasValidChecksum(secret)) return null;
  return { id: Number.parseInt(id, 36), digest: digestSecret(secret) };
}

import { isUtf8 } from 'node:buffer';

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i;

/**
 * RFC 7617 §2: the user-id ends at the first colon, and neither part holds control characters. null where the header
 * is of another scheme or broken.
 */
export function parseBasicCredentials(authorization: string): { userId: string; password: string } | null {
  const encoded = BASIC.exec(authorization)?.[1];
  if (encoded === undefined) return null;
  const bytes = Buffer.from(encoded, 'base64');
  if (!isUtf8(bytes)) return null;
  const text = bytes.toString('utf8');
  const colon = text.indexOf(':');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  if (colon < 0 || /[\x00-\x1f\x7f]/.test(text)) return null;
  return { userId: text.slice(0, colon), password: text.slice(colon + 1) };
}

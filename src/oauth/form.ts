import { invalidRequest } from '../errors.ts';

/**
 * Reads `application/x-www-form-urlencoded` strictly. The WHATWG parser of the platform mends what is broken; here,
 * where a mended secret would be another secret, broken percent-encoding and repeated names (RFC 6749 §3.2) are
 * refused.
 */
export function parseForm(text: string): Record<string, string> {
  const fields = new Map<string, string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decodeFormValue(equals < 0 ? pair : pair.slice(0, equals));
    const value = decodeFormValue(equals < 0 ? '' : pair.slice(equals + 1));
    if (name === null || value === null) throw invalidRequest('The body has broken percent-encoding.');
    if (fields.has(name)) throw invalidRequest(`${printable(name)}: it is sent more than once.`);
    fields.set(name, value);
  }
  return Object.assign(Object.create(null), Object.fromEntries(fields)) as Record<string, string>;
}

/** null where the percent-encoding is broken or does not spell UTF-8. */
export function decodeFormValue(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

const printable = (name: string): string => name.replace(/[^\x21-\x7e]/g, '?').slice(0, 50);

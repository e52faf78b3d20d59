import { invalidScope } from '../errors.ts';

/** RFC 6749 §3.3: a scope token is printable ASCII without space, quotation mark and backslash. */
export const SCOPE_TOKEN_PATTERN = '^[\\x21\\x23-\\x5B\\x5D-\\x7E]{1,64}$';

const scopeToken = new RegExp(SCOPE_TOKEN_PATTERN);

/** Reads a `scope` parameter: names between single spaces, repetitions dropped, order kept. */
export function parseScope(parameter: string): string[] {
  const names = parameter.split(' ');
  if (!names.every((name) => scopeToken.test(name))) {
    throw invalidScope('A scope is names separated by single spaces, for example "read write".');
  }
  return [...new Set(names)];
}

/** RFC 6749 §3.3: all that is held where nothing is asked for; never more than is held, and nothing dropped silently. */
export function grantScopes(held: readonly string[], requested: string | undefined): string[] {
  if (requested === undefined) return [...held];
  const names = parseScope(requested);
  const beyond = names.filter((name) => !held.includes(name));
  if (beyond.length === 0) return names;
  throw invalidScope(
    'A requested scope is unknown or beyond what was granted. Leave scope out to get all of it.',
  );
}

export const formatScope = (scopes: readonly string[]): string => scopes.join(' ');

/** What is left of `granted` once the agent holds only `held`. */
export const narrowScopes = (granted: readonly string[], held: readonly string[]): string[] =>
  granted.filter((scope) => held.includes(scope));

export const splitScope = (stored: string): string[] => (stored === '' ? [] : stored.split(' '));

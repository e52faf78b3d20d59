import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { invalidRequest } from '../errors.ts';
import { parseForm } from '../oauth/form.ts';

/** JSON for everybody. An empty body is no body, whatever its content type says. */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: unknown, body: Buffer) => (body.length === 0 ? undefined : parseJson(toText(body))),
  );
}

export function readFormBodies(app: FastifyInstance): void {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    async (_request: unknown, body: Buffer) => withoutHiddenText(parseForm(toText(body))),
  );
}

/** Strict JSON: no repeated member, of which parsers differ in what they make, and nothing that hides in a string. */
export function parseJson(text: string): unknown {
  const value = withoutHiddenText(parse(text));
  if (countMembers(value) !== countWrittenMembers(text)) {
    throw invalidRequest('The body names a member more than once.');
  }
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidRequest('The body is not valid JSON.');
  }
}

function toText(body: Buffer): string {
  if (!isUtf8(body)) throw invalidRequest('The body is not valid UTF-8.');
  return body.toString('utf8');
}

const DEEPEST = 20;

/** Refuses NUL, which PostgreSQL cannot store, lone surrogates, which UTF-8 cannot spell, and `__proto__`. */
function withoutHiddenText<Value>(value: Value, depth = 0): Value {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) {
      throw invalidRequest('The body holds a NUL character or half of a surrogate pair.');
    }
  } else if (typeof value === 'object' && value !== null) {
    if (depth > DEEPEST) throw invalidRequest('The body is nested too deeply.');
    for (const [name, member] of Object.entries(value)) {
      if (name === '__proto__') throw invalidRequest('__proto__: there is no such field.');
      withoutHiddenText(name);
      withoutHiddenText(member, depth + 1);
    }
  }
  return value;
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members = Object.values(value);
  const own = Array.isArray(value) ? 0 : members.length;
  return members.reduce<number>((count, member) => count + countMembers(member), own);
}

/** In valid JSON every member has one colon outside of strings. */
function countWrittenMembers(text: string): number {
  return text.replace(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1;
}

import { type Static, type TObject, type TProperties, Type } from 'typebox';
import { type ErrorCode, errorCatalogue } from './errors.ts';
import { type IdPrefix, SORTABLE_PATTERN } from './ids.ts';

/** The wire shapes that more than one resource uses. Each schema validates, serialises, types and documents. */

export const Timestamp = Type.String({ format: 'date-time', examples: ['2026-01-31T09:30:00.000Z'] });
export const Nullable = <Schema extends Type.TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

const EXAMPLE_SORTABLE = '01k0d4v3s6e8wbn7xtq5mzr2ch';

/** An identifier in an answer. */
export const Id = (prefix: IdPrefix) => Type.String({ examples: [`${prefix}_${EXAMPLE_SORTABLE}`] });

/** A request body: members that it does not name are refused, so that a typing error is not silently ignored. */
export const Body = <Properties extends TProperties>(properties: Properties, options: object = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options });

export const Name = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '\\S',
  description: '1–200 characters, not all blank.',
  examples: ['invoice-importer'],
});

export const idParam = (prefix: IdPrefix) =>
  Type.String({ maxLength: 100, examples: [`${prefix}_${EXAMPLE_SORTABLE}`] });

const LARGEST_PAGE = 1000;

/** The query of a list: newest first, keyset pages. A cursor of another list is refused, not misread. */
export const pageQuery = (prefix: IdPrefix) => ({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LARGEST_PAGE,
      default: LARGEST_PAGE,
      description: 'The most items that the answer holds.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      pattern: `^${prefix}_${SORTABLE_PATTERN}$`,
      description: 'The `next_cursor` of the page before.',
    }),
  ),
});

export const NextCursor = Type.Optional(
  Type.String({ description: 'Send it as `cursor` to get the next page. Absent on the last one.' }),
);

export interface Page {
  limit: number;
  cursor: string | null;
}

export const toPage = (query: { limit?: number; cursor?: string }): Page => ({
  limit: query.limit ?? LARGEST_PAGE,
  cursor: query.cursor ?? null,
});

/** Cuts the row that a store read beyond the page, which tells whether more remains. */
export function splitPage<Item extends { id: string }>(
  items: readonly Item[],
  limit: number,
): { items: Item[]; next: { next_cursor?: string } } {
  const page = items.slice(0, limit);
  const last = page.at(-1);
  return { items: page, next: items.length > limit && last !== undefined ? { next_cursor: last.id } : {} };
}

export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'A code from docs/errors.md.' }),
    error_description: Type.String({ description: 'A sentence that says what to do.' }),
  },
  { $id: 'Error', title: 'Error' },
);
export type ErrorBody = Static<typeof ErrorBody>;

/** The failures that any path can meet, whatever it does. */
const EVERYWHERE: readonly ErrorCode[] = ['invalid_request', 'server_error', 'temporarily_unavailable'];

/** One response schema per status for the codes that a route can answer with. */
export function errorResponses(...codes: readonly ErrorCode[]): Record<number, TObject> {
  const responses: Record<number, TObject> = {};
  for (const status of new Set([...codes, ...EVERYWHERE].map((code) => errorCatalogue[code].status))) {
    const possible = [...new Set([...codes, ...EVERYWHERE])].filter(
      (code) => errorCatalogue[code].status === status,
    );
    responses[status] = Type.Object(
      {
        error: Type.String({ enum: possible, examples: [possible[0]] }),
        error_description: Type.String({ examples: [errorCatalogue[possible[0] as ErrorCode].when] }),
      },
      { description: possible.map((code) => `\`${code}\`: ${errorCatalogue[code].when}`).join('\n\n') },
    );
  }
  return responses;
}

/** What every administrator path can answer with, and what those add that read a body. */
export const ADMIN_ERRORS = [
  'unauthorized',
  'insufficient_role',
  'too_many_attempts',
] as const satisfies readonly ErrorCode[];
export const BODY_ERRORS = [
  'payload_too_large',
  'unsupported_media_type',
] as const satisfies readonly ErrorCode[];

export const NoContent = Type.Null({ description: 'Done. No body.' });

import fc, { type Arbitrary } from 'fast-check';
import { bodyOf, fitting, hostileText, type Place, place, type Schema } from './values.ts';

export interface Operation {
  method: string;
  template: string;
  parameters: { name: string; in: string; schema: Schema }[];
  body: { schema: Schema; types: string[] } | null;
}

/** One request, with places for what exists. */
export interface FuzzRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | null;
  isChunked: boolean;
}

interface Document {
  paths: Record<
    string,
    Record<
      string,
      { parameters?: Operation['parameters']; requestBody?: { content: Record<string, { schema: Schema }> } }
    >
  >;
}

export function operationsOf({ paths }: Document): Operation[] {
  return Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody }]) => {
      const content = Object.entries(requestBody?.content ?? {});
      const schema = content[0]?.[1].schema;
      return {
        method: method.toUpperCase(),
        template,
        parameters,
        body: schema === undefined ? null : { schema, types: content.map(([type]) => type) },
      };
    }),
  );
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
const TYPES = [
  'text/plain',
  'application/json; charset=utf-16',
  'application/xml',
  'multipart/form-data; boundary=x',
  'application/json, text/plain',
  '',
];

export function requestsOf(operations: readonly Operation[]): Arbitrary<FuzzRequest> {
  return fc.oneof(...operations.map(requestOf));
}

function requestOf(operation: Operation): Arbitrary<FuzzRequest> {
  return fc
    .record({
      method: fc.oneof(
        { weight: 19, arbitrary: fc.constant(operation.method) },
        { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
      ),
      path: fc.tuple(pathOf(operation), queryOf(operation)).map((parts) => parts.join('')),
      authorization: authorizations(operation.template),
      payload: payloadOf(operation),
      more: fc.oneof({ weight: 9, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: oddHeaders }),
      isChunked: fc.boolean(),
    })
    .map(({ authorization, payload, more, ...request }) => ({
      ...request,
      body: payload.body,
      headers: {
        ...(payload.type !== '' && { 'content-type': payload.type }),
        ...(authorization !== '' && { authorization }),
        ...more,
      },
    }));
}

const oddHeaders = fc.constantFrom<Record<string, string>>(
  { 'x-request-id': '{"level":60}' },
  { 'content-encoding': 'gzip' },
  { accept: 'text/html', 'accept-encoding': 'br;q=x' },
  { 'if-none-match': '*', range: 'bytes=0-0' },
  { expect: '200-ok' },
  { 'x-http-method-override': 'DELETE' },
  { cookie: 'a=b; a=c', 'x-forwarded-host': 'other.test' },
  { 'user-agent': '<script>\u00ff' },
);

const PLACE_OF: Readonly<Record<string, Place>> = {
  agents: 'agent',
  organizations: 'organization',
  teams: 'team',
  webhooks: 'webhook',
  deliveries: 'delivery',
};

function pathOf({ template }: Operation): Arbitrary<string> {
  const parts = template.split('/').map((part, index, all) => {
    if (!part.startsWith('{')) return fc.constant(part);
    const right = fc.constant(place(PLACE_OF[all[index - 1] ?? ''] ?? 'agent'));
    const wrong = fc.oneof(
      hostileText.map((text) => encodeURIComponent(text.toWellFormed()).slice(0, 6000)),
      fc.constantFrom('%', '%zz', '%c0%af', '..', '%2e%2e', '%00', 'me', "'"),
    );
    return fc.oneof({ weight: 9, arbitrary: right }, { weight: 1, arbitrary: wrong });
  });
  return fc.tuple(...parts).map((values) => values.join('/'));
}

function queryOf({ parameters }: Operation): Arbitrary<string> {
  const own = parameters.filter((parameter) => parameter.in === 'query');
  const pair = fc.oneof(
    ...own.map(({ name, schema }) =>
      fc
        .oneof({ weight: 3, arbitrary: fitting(schema, name) }, { weight: 1, arbitrary: hostileText })
        .map((value) => encode(name, String(value))),
    ),
    fc.constantFrom('', '&', 'token=x', 'a[b]=1', '%', '__proto__=1', 'limit=1', 'limit=1&limit=2'),
    fc.tuple(hostileText, hostileText).map(([name, value]) => encode(name, value)),
  );
  const some = fc.array(pair, { maxLength: 3 }).map((pairs) => `?${pairs.join('&')}`.slice(0, 9000));
  return fc.oneof(
    { weight: own.length > 0 ? 6 : 1, arbitrary: some },
    { weight: 4, arbitrary: fc.constant('') },
  );
}

/** Places keep their braces, by which they are found. */
const encode = (name: string, value: string): string =>
  `${encodeURIComponent(name.toWellFormed())}=${value.startsWith('{{') ? value : encodeURIComponent(value.toWellFormed())}`;

function authorizations(template: string): Arbitrary<string> {
  const right = template.startsWith('/api/agents/me')
    ? `Bearer ${place('accessToken')}`
    : template.startsWith('/api/')
      ? 'ADMIN'
      : '';
  const odd = fc.oneof(
    fc.constantFrom(
      '',
      'ADMIN',
      'CLIENT',
      `Bearer ${place('accessToken')}`,
      `Bearer ${place('usedToken')}`,
      'Basic',
      'Basic =',
      'Bearer',
      'Bearer a.b.c',
      'Digest x',
      'Basic Og==',
    ),
    fc.base64String().map((text) => `Basic ${text}`),
    fc.string({ maxLength: 30 }).map((text) => `Bearer ${text}`),
  );
  return fc.oneof({ weight: 6, arbitrary: fc.constant(right) }, { weight: 1, arbitrary: odd });
}

function payloadOf({ body, method }: Operation): Arbitrary<{ type: string; body: string | null }> {
  const none = fc.constant({ type: '', body: null });
  const broken = fc.record({
    type: fc.constantFrom('application/json', 'application/x-www-form-urlencoded', ...TYPES),
    body: fc.oneof(
      fc.constantFrom(
        '{',
        '[]',
        'null',
        '"',
        '{"a":1,"a":2}',
        'a=%',
        'a=b&a=c',
        '\ufeff{}',
        '['.repeat(30_000),
        'x'.repeat(70_000),
        '{"__proto__":1}',
      ),
      hostileText,
    ),
  });
  if (body === null)
    return fc.oneof({ weight: method === 'GET' ? 30 : 9, arbitrary: none }, { weight: 1, arbitrary: broken });
  const value = bodyOf(body.schema);
  const json = value.map((content) => ({ type: 'application/json', body: JSON.stringify(content) }));
  const form = value.map((content) => ({ type: 'application/x-www-form-urlencoded', body: toForm(content) }));
  const typed = value.chain((content) =>
    fc.constantFrom(...TYPES).map((type) => ({ type, body: JSON.stringify(content) })),
  );
  const right = body.types.length > 1 ? fc.oneof(json, form) : json;
  return fc.oneof(
    { weight: 14, arbitrary: right },
    { weight: 1, arbitrary: typed },
    { weight: 1, arbitrary: broken },
    { weight: 1, arbitrary: none },
  );
}

function toForm(content: unknown): string {
  if (typeof content !== 'object' || content === null) return String(content).toWellFormed();
  const pairs = Object.entries(content).map(([name, value]) =>
    encode(name, typeof value === 'string' ? value : JSON.stringify(value)),
  );
  return pairs.join('&');
}

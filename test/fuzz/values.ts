import fc, { type Arbitrary } from 'fast-check';

/** What stands for something that exists: it is put in when the request is sent, so that a seed makes the same requests. */
export const PLACES = [
  'agent',
  'organization',
  'team',
  'webhook',
  'delivery',
  'clientId',
  'clientSecret',
  'accessToken',
  'refreshToken',
  'usedToken',
] as const;
export type Place = (typeof PLACES)[number];

export const place = (name: Place): string => `{{${name}}}`;

export interface Schema {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
}

const HUGE = 60_000;

const strings: Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\0',
    'a\0b',
    '\ud800',
    '\u202e\u2028\ufeff',
    '\r\nx: y',
    '👩‍👩‍👧‍👦',
    'İıſ',
    '__proto__',
    'constructor',
    '../../etc/passwd',
    '%00%0a%ff',
    "' or 1=1 --",
    '"; drop table agents; --',
    '{{7*7}}<%= 7 %>',
    '<script>alert(1)</script>',
    '-1',
    '1e309',
    'NaN',
    'null',
    'true',
    '*',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc
    .constantFrom('a', ' ', '%', '"', '\\', 'é', '=')
    .map((unit) => unit.repeat(HUGE / Buffer.byteLength(unit) / 2)),
);

const numbers = fc.oneof(
  fc.constantFrom(0, -0, -1, 1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 53), 1e21, 1e308, 5e-324, 604_801),
  fc.integer(),
);

/** Lists in lists, as deep as a writer of JSON can go. */
const deep = fc.integer({ min: 1, max: 2000 }).map((depth) => {
  let value: unknown[] = [];
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
});

/** Anything but what was asked for. */
export const hostile: Arbitrary<unknown> = fc.oneof(
  strings,
  numbers,
  fc.boolean(),
  fc.constantFrom<unknown>(null, {}, [], [[]], [null]),
  fc.array(strings, { maxLength: 5 }),
  fc.dictionary(strings, fc.oneof(strings, numbers), { maxKeys: 4 }),
  fc.array(fc.constant('read'), { minLength: 1000, maxLength: 5000 }),
  deep,
);

export const hostileText = strings;

/** Literal addresses alone: nothing is looked up, and nothing leaves the machine. */
const urls = fc
  .tuple(
    fc.constantFrom(
      'http://',
      'https://',
      'HTTP://',
      'http:',
      'ftp://',
      'javascript:',
      'file:///',
      '//',
      'http:///',
      'http://u:p@',
      'http:\\\\',
    ),
    fc.constantFrom(
      '127.0.0.1:1',
      '[::1]:1',
      '169.254.169.254',
      '0x7f.1:1',
      '2130706433',
      '[::ffff:169.254.169.254]',
      '017700000001',
      '10.0.0.1',
      '[fe80::1%25eth0]',
      '127.0.0.1:99999',
      '[::',
      '',
      '127。0。0。1',
    ),
    fc.oneof(fc.constantFrom('', '/', '/?a=b#c', '/%00', '/\r\nhost: x'), strings),
  )
  .map((parts) => parts.join(''));

/** By the name of a field or parameter, what exists and might stand there. */
const known: Readonly<Record<string, Arbitrary<string>>> = {
  client_id: fc.constantFrom(place('clientId'), place('agent')),
  client_secret: fc.constantFrom(place('clientSecret'), place('refreshToken')),
  token: mutated('accessToken', 'refreshToken', 'usedToken'),
  refresh_token: mutated('refreshToken', 'usedToken', 'accessToken'),
  organization_id: fc.constantFrom(place('organization'), place('agent')),
  team_id: fc.constantFrom(place('team'), place('organization')),
  grant_type: fc.constantFrom('client_credentials', 'refresh_token'),
  scope: fc.constantFrom('read', 'read write', 'admin', 'read  write'),
  cursor: mutated('agent', 'organization', 'webhook', 'delivery'),
  q: strings,
  url: urls,
};

/** A token or cursor as it is, or with something done to it when it is put in: see `mutate`. */
function mutated(...names: Place[]): Arbitrary<string> {
  const whole = fc.constantFrom(...names.map(place));
  const part = fc.nat({ max: 9999 });
  return fc.oneof(
    whole,
    fc
      .tuple(whole, fc.constantFrom('cut', 'flip', 'double', 'swap', 'pad', 'header'), part)
      .map(([text, how, at]) => `${text}!${how}:${at}!`),
  );
}

/** A value that the schema allows, or nearly. */
export function fitting(schema: Schema, name = ''): Arbitrary<unknown> {
  if (known[name] !== undefined) return known[name];
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => fitting(one)));
  switch (schema.type) {
    case 'integer':
    case 'number':
      return fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1000 });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.uniqueArray(fitting(schema.items ?? {}), { maxLength: 4 });
    case 'object':
      return bodyOf(schema);
    default:
      return text(schema);
  }
}

function text({ pattern, format, minLength = 0, maxLength = 60 }: Schema): Arbitrary<string> {
  if (format === 'email') return fc.constant('owner@acme.test');
  if (pattern !== undefined && pattern !== '\\S') return fc.stringMatching(new RegExp(pattern));
  return fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 60) });
}

/** Members as the schema says; now and then one is left out, hostile, or one too many. */
export function bodyOf(schema: Schema): Arbitrary<unknown> {
  const members: Record<string, Arbitrary<unknown>> = {};
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    members[name] = fc.oneof(
      { weight: 9, arbitrary: fitting(member, name) },
      { weight: 1, arbitrary: hostile },
    );
  }
  const requiredKeys: string[] = schema.required ?? [];
  const right = fc.record<Record<string, unknown>, string>(members, { requiredKeys });
  return fc.oneof(
    { weight: 12, arbitrary: right },
    { weight: 1, arbitrary: fc.record(members, { requiredKeys: [] }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(right, fc.dictionary(strings, hostile, { maxKeys: 2 }))
        .map(([body, more]) => ({ ...(body as object), ...more })),
    },
    { weight: 1, arbitrary: hostile },
  );
}

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { ConfigError, toConfig } from '../src/config.ts';
import { settings } from '../src/settings.ts';

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    toConfig(env);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
}

/** Exactly one problem, which begins with the setting's name and matches. */
function assertRefused(name: string, value: string, sentence: RegExp): void {
  const problems = problemsOf({ [name]: value });
  assert.equal(problems.length, 1, `${name}=${value}`);
  assert.match(problems[0] ?? '', new RegExp(`^${name} `));
  assert.match(problems[0] ?? '', sentence);
}

test('without any setting everything has its default', () => {
  assert.deepEqual(toConfig({}), {
    host: '127.0.0.1',
    port: 8080,
    processes: 1,
    publicUrl: 'http://127.0.0.1:8080',
    dataDir: resolve('data'),
    database: { kind: 'sqlite', path: resolve('data', 'signet.db') },
    adminEmail: null,
    adminPassword: null,
    masterKey: null,
    accessTokenSeconds: 3600,
    refreshTokenSeconds: 2_592_000,
    hasRefreshTokens: true,
    scopes: ['read', 'write', 'admin'],
    audience: 'http://127.0.0.1:8080',
    isIntrospectionOpen: true,
    isRevocationOpen: true,
    hasReasons: true,
    maxConnections: 12_000,
    requestSeconds: 30,
    tokensPerMinute: null,
    webhookTargets: 'any',
    keyRotationDays: 90,
    auditDays: 365,
    trustedProxies: [],
    logLevel: 'info',
  });
});

test('the issuer follows from host and port, the audience from the issuer, the database from the folder', () => {
  const config = toConfig({ SIGNET_HOST: '::1', SIGNET_PORT: '9000', SIGNET_DATA_DIR: '/var/lib/signet' });
  assert.equal(config.publicUrl, 'http://[::1]:9000');
  assert.equal(config.audience, 'http://[::1]:9000');
  assert.deepEqual(config.database, { kind: 'sqlite', path: '/var/lib/signet/signet.db' });
  const named = toConfig({ SIGNET_PUBLIC_URL: 'https://id.example/auth/', SIGNET_AUDIENCE: 'apis' });
  assert.deepEqual([named.publicUrl, named.audience], ['https://id.example/auth', 'apis']);
});

test('several processes need PostgreSQL, and "auto" means one without it', () => {
  const postgres = { SIGNET_DATABASE_URL: 'postgres://db/signet', SIGNET_MASTER_KEY: base64(32) };
  for (const place of [{}, { SIGNET_DATABASE_URL: 'sqlite:signet.db' }]) {
    assert.deepEqual(problemsOf({ ...place, SIGNET_PROCESSES: '2' }), [
      'SIGNET_PROCESSES must be 1 with SQLite, whose file one process writes. Set SIGNET_DATABASE_URL to a postgres:// URL for more.',
    ]);
    assert.equal(toConfig({ ...place, SIGNET_PROCESSES: 'auto' }).processes, 1);
  }
  assert.equal(toConfig({ ...postgres, SIGNET_PROCESSES: '64' }).processes, 64);
  assert.equal(
    toConfig({ ...postgres, SIGNET_PROCESSES: 'auto' }).processes,
    Math.min(availableParallelism(), 64),
  );
  for (const value of ['0', '65', 'two', '1.5', '']) {
    assertRefused('SIGNET_PROCESSES', value, /must be auto, or a whole number from 1 to 64/);
  }
});

const bounds = [
  ['SIGNET_PORT', 1, 65_535],
  ['SIGNET_ACCESS_TOKEN_SECONDS', 1, 2_592_000],
  ['SIGNET_REFRESH_TOKEN_SECONDS', 1, 31_536_000],
  ['SIGNET_KEY_ROTATION_DAYS', 1, 3650],
  ['SIGNET_TOKEN_RATE', 1, 1_000_000],
  ['SIGNET_MAX_CONNECTIONS', 1, 1_000_000],
  ['SIGNET_REQUEST_SECONDS', 1, 300],
  ['SIGNET_AUDIT_DAYS', 0, 36_500],
] as const;

for (const [name, least, most] of bounds) {
  test(`${name} is a whole number from ${least} to ${most}`, () => {
    for (const value of [least, most]) assert.deepEqual(problemsOf({ [name]: String(value) }), []);
    for (const value of [least - 1, most + 1, '', ' ', '1.5', '1e3', '0x10', '-1', '+1', 'many', '٣']) {
      assertRefused(name, String(value), new RegExp(`whole number from ${least} to ${most}`));
    }
  });
}

const choices = [
  ['SIGNET_REFRESH_TOKENS', ['on', 'off']],
  ['SIGNET_INTROSPECTION_AUTH', ['open', 'required']],
  ['SIGNET_INTROSPECTION_REASON', ['on', 'off']],
  ['SIGNET_REVOCATION_AUTH', ['open', 'required']],
  ['SIGNET_WEBHOOK_TARGETS', ['any', 'public']],
  ['SIGNET_LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']],
] as const;

for (const [name, values] of choices) {
  test(`${name} is one of ${values.join(', ')}`, () => {
    for (const value of values) assert.deepEqual(problemsOf({ [name]: value }), []);
    for (const value of ['', 'true', values[0].toUpperCase(), `${values[0]} `, 'constructor']) {
      assertRefused(name, value, new RegExp(`one of ${values.join(', ')}`));
    }
  });
}

test('the choices and lists arrive as they were set', () => {
  const config = toConfig({
    SIGNET_REFRESH_TOKENS: 'off',
    SIGNET_INTROSPECTION_AUTH: 'required',
    SIGNET_WEBHOOK_TARGETS: 'public',
    SIGNET_SCOPES: 'admin  write read deploy:prod read',
    SIGNET_ADMIN_EMAIL: 'Root@Example.COM',
    SIGNET_DATABASE_URL: 'sqlite:relative/x.db',
  });
  assert.equal(config.hasRefreshTokens, false);
  assert.equal(config.isIntrospectionOpen, false);
  assert.equal(config.webhookTargets, 'public');
  assert.deepEqual(config.scopes, ['admin', 'write', 'read', 'deploy:prod']);
  assert.equal(config.adminEmail, 'root@example.com');
  assert.deepEqual(config.database, { kind: 'sqlite', path: resolve('relative/x.db') });
});

test('SIGNET_TRUSTED_PROXIES is a list of addresses and networks', () => {
  const of = (text: string) => toConfig({ SIGNET_TRUSTED_PROXIES: text }).trustedProxies;
  assert.deepEqual(of('127.0.0.1 10.0.0.0/8, ::1,fd00::/8'), ['127.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8']);
  for (const wrong of [
    'true',
    '127.1',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    'proxy.test',
    '*',
    '::/129',
  ]) {
    assertRefused('SIGNET_TRUSTED_PROXIES', `::1 ${wrong}`, /neither an address nor a network/);
  }
});

test('SIGNET_SCOPES keeps the specified scopes and takes only names that RFC 6749 allows', () => {
  assertRefused('SIGNET_SCOPES', 'read write', /must include admin/);
  assertRefused('SIGNET_SCOPES', '', /must include read, write, admin/);
  assertRefused('SIGNET_SCOPES', 'read write admin a"b', /not a scope: "a"b"/);
  assertRefused('SIGNET_SCOPES', 'read write admin ü', /not a scope/);
});

test('SIGNET_PUBLIC_URL is an http or https URL without query, fragment and user name', () => {
  const refused = [
    '',
    'signet',
    'ftp://x.test',
    'https://x.test/?a=1',
    'https://x.test/#a',
    'https://u@x.test',
  ];
  for (const value of refused) assertRefused('SIGNET_PUBLIC_URL', value, /http or https URL/);
});

test('SIGNET_ADMIN_EMAIL and SIGNET_ADMIN_PASSWORD have the form that logging in needs', () => {
  for (const value of ['', 'root', 'a b@c', 'a:b@c', '@c']) {
    assertRefused('SIGNET_ADMIN_EMAIL', value, /e-mail address/);
  }
  for (const length of [0, 7, 1025]) {
    assertRefused('SIGNET_ADMIN_PASSWORD', 'p'.repeat(length), /8 to 1024 characters/);
  }
  for (const length of [8, 1024]) {
    assert.deepEqual(problemsOf({ SIGNET_ADMIN_PASSWORD: 'p'.repeat(length) }), []);
  }
});

const base64 = (bytes: number): string => randomBytes(bytes).toString('base64');

test('SIGNET_MASTER_KEY is the base64 of exactly 32 bytes', () => {
  assert.deepEqual(problemsOf({ SIGNET_MASTER_KEY: base64(32) }), []);
  for (const value of ['', base64(31), base64(33), `${base64(32)} `, 'f'.repeat(64)]) {
    assertRefused('SIGNET_MASTER_KEY', value, /base64 of exactly 32 bytes/);
  }
});

test('SIGNET_HOST, SIGNET_DATA_DIR, SIGNET_AUDIENCE and SIGNET_DATABASE_URL are not empty', () => {
  for (const name of ['SIGNET_HOST', 'SIGNET_DATA_DIR', 'SIGNET_AUDIENCE']) {
    assertRefused(name, ' ', /must not be empty/);
  }
  assertRefused('SIGNET_DATABASE_URL', '', /path, sqlite:PATH, or postgres:/);
  assertRefused('SIGNET_DATABASE_URL', 'mysql://db', /path, sqlite:PATH, or postgres:/);
});

test('a PostgreSQL database comes with its connections and the kind of its statements', () => {
  for (const url of [
    'postgres://u:p@db/signet',
    'postgres://u:p,2@db/signet',
    'postgresql://u:p@db:6432/signet?sslmode=verify-full',
  ]) {
    const env = { SIGNET_DATABASE_URL: url, SIGNET_MASTER_KEY: base64(32) };
    const database = { kind: 'postgres', url, connections: 10, hasNamedStatements: true };
    assert.deepEqual(toConfig(env).database, database);
    assert.deepEqual(
      toConfig({ ...env, SIGNET_DATABASE_CONNECTIONS: '25', SIGNET_DATABASE_STATEMENTS: 'unnamed' }).database,
      { ...database, connections: 25, hasNamedStatements: false },
    );
  }
});

test('PostgreSQL needs a master key that is set, since no instance has another one’s file', () => {
  assert.deepEqual(problemsOf({ SIGNET_DATABASE_URL: 'postgres://u:p@db/signet' }), [
    'SIGNET_MASTER_KEY must be set with PostgreSQL, the same for every instance: openssl rand -base64 32.',
  ]);
});

test('a PostgreSQL URL needs a database and an sslmode that can be kept', () => {
  const wrong: ReadonlyArray<readonly [string, RegExp]> = [
    ['postgres:', /must be postgres:/],
    ['postgres://u:p@db', /must be postgres:/],
    ['postgres://u:p w/100%@db:x/signet', /must be postgres:/],
    ['postgres://u:p@a,b/signet?target_session_attrs=read-write', /must name one host/],
    ['postgres://u:p@a:5432,b:5432/signet', /must name one host/],
    ['postgres://u:p@db/signet?sslmode=allow', /one of disable, prefer, require, verify-ca, verify-full/],
    ['postgres://u:p@db/signet?sslmode=verify-ca', /sslrootcert/],
  ];
  for (const [value, sentence] of wrong) assertRefused('SIGNET_DATABASE_URL', value, sentence);
});

test('all problems are told at once, a line each', () => {
  const problems = problemsOf({
    SIGNET_PORT: '0',
    SIGNET_ADMIN_EMAIL: 'root',
    SIGNET_REFRESH_TOKENS: 'yes',
    SIGNET_HOTS: 'x',
  });
  assert.deepEqual(problems.map((problem) => problem.split(' ')[0]).toSorted(), [
    'SIGNET_ADMIN_EMAIL',
    'SIGNET_HOTS',
    'SIGNET_PORT',
    'SIGNET_REFRESH_TOKENS',
  ]);
});

test('a name that is not a setting is refused with the nearest one', () => {
  const suggestion = (name: string) => problemsOf({ [name]: 'x' })[0];
  assert.equal(suggestion('SIGNET_PROT'), 'SIGNET_PROT is not a setting. Did you mean SIGNET_PORT?');
  assert.match(suggestion('SIGNET_ADMIN_PASWORD') ?? '', /Did you mean SIGNET_ADMIN_PASSWORD\?/);
  assert.match(suggestion('SIGNET_DATABASE') ?? '', /Did you mean SIGNET_DATABASE_URL\?/);
  assert.deepEqual(problemsOf({ PORT: '1', SIGNETX_PORT: '1' }), []);
});

test('no problem repeats a secret', () => {
  const secret = 'hunter2';
  const problems = problemsOf({
    SIGNET_ADMIN_PASSWORD: secret,
    SIGNET_ADMIN_PASWORD: secret,
    SIGNET_MASTER_KEY: secret,
    SIGNET_DATABASE_URL: `postgres://signet:${secret}@db`,
    SIGNET_PUBLIC_URL: `https://signet:${secret}@id.example`,
  });
  assert.equal(problems.length, 5);
  assert.equal(problems.join('\n').includes(secret), false);
});

test('a password without a user name in SIGNET_PUBLIC_URL is refused like one with it', () => {
  assert.equal(problemsOf({ SIGNET_PUBLIC_URL: 'https://:hush-hush@id.example' }).length, 1);
});

test('every setting tells its form and what it is about', () => {
  for (const [name, { shape, about }] of Object.entries(settings)) {
    assert.ok(shape.length > 0 && about.endsWith('.'), name);
  }
});

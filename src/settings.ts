import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { EMAIL_PATTERN, LONGEST_PASSWORD, SHORTEST_PASSWORD } from './admin/administrator.ts';
import { SCOPE_TOKEN_PATTERN } from './agents/scope.ts';
import { SSL_MODES, sslModeOf } from './db/postgres-url.ts';
import { type MasterKey, toMasterKey } from './encryption.ts';
import { LONGEST_TOKEN_SECONDS } from './organizations/organization.ts';

/** One setting: how its text is read, and what the documentation says of it. `parse` throws a `Problem`. */
export interface Setting<Value> {
  parse(text: string): Value;
  /** Used where the variable is not set; null for none. */
  fallback: string | null;
  shape: string;
  about: string;
}

/** Why a text is not a value of its setting, to be read after the setting's name. */
export class Problem extends Error {}

const SPECIFIED_SCOPES = ['read', 'write', 'admin'];
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export const MOST_PROCESSES = 64;

/** The one table of settings; `docs/configuration.md` is made from it. */
export const settings = {
  SIGNET_HOST: {
    parse: nonEmpty,
    fallback: '127.0.0.1',
    shape: 'address or name',
    about: 'The address to listen on. `0.0.0.0` or `::` for every interface, behind a proxy that speaks TLS.',
  },
  SIGNET_PORT: {
    parse: integer(1, 65_535),
    fallback: '8080',
    shape: '1–65535',
    about: 'The TCP port to listen on.',
  },
  SIGNET_PROCESSES: {
    parse: processes,
    fallback: '1',
    shape: `1–${MOST_PROCESSES}, or \`auto\``,
    about:
      'How many processes serve the port; `auto` for as many as there are cores. More than one needs PostgreSQL; with SQLite `auto` means 1. It helps where cores are idle while one process is busy: signing uses all cores anyway. See [architecture](architecture.md#several-processes).',
  },
  SIGNET_PUBLIC_URL: {
    parse: publicUrl,
    fallback: null,
    shape: 'URL',
    about:
      'The issuer: what stands as `iss` in every token and before every endpoint in the metadata. Default: `http://HOST:PORT`. Changing it makes the tokens issued before invalid.',
  },
  SIGNET_DATABASE_URL: {
    parse: database,
    fallback: null,
    shape: 'path, `sqlite:PATH` or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`',
    about:
      'The SQLite file, which one process uses at a time, or a PostgreSQL database (14 or later), which any number of instances share. `?sslmode=` means what it means to libpq: `disable`, `prefer` (the default), `require`, `verify-ca` with `sslrootcert`, or `verify-full`, which a network that is not yours asks for. Default: `signet.db` in the data folder.',
  },
  SIGNET_DATABASE_CONNECTIONS: {
    parse: integer(1, 100),
    fallback: '10',
    shape: '1–100',
    about:
      'The most connections to PostgreSQL that each process of this instance holds. All processes of all instances together must stay below the server’s `max_connections`.',
  },
  SIGNET_DATABASE_STATEMENTS: {
    parse: oneOf('named', 'unnamed'),
    fallback: 'named',
    shape: '`named` or `unnamed`',
    about:
      "`unnamed` is for a pooler that gives each transaction another connection, such as PgBouncer before 1.21 in its transaction mode. It sends no settings of the session either: give them to the role, as in `ALTER ROLE signet SET statement_timeout = '5s'`.",
  },
  SIGNET_DATA_DIR: {
    parse: (text: string) => resolve(nonEmpty(text)),
    fallback: './data',
    shape: 'path',
    about: 'The folder of the database and the master key; made where it is missing.',
  },
  SIGNET_ADMIN_EMAIL: {
    parse: email,
    fallback: null,
    shape: 'e-mail address',
    about:
      'The first administrator. Used only while there is none; default `admin@localhost`. See SIGNET_ADMIN_PASSWORD.',
  },
  SIGNET_ADMIN_PASSWORD: {
    parse: password,
    fallback: null,
    shape: `${SHORTEST_PASSWORD}–${LONGEST_PASSWORD} characters`,
    about: 'The password of the first administrator. Where it is not set, one is made and printed, once.',
  },
  SIGNET_MASTER_KEY: {
    parse: masterKey,
    fallback: null,
    shape: 'base64 of 32 bytes',
    about:
      'Encrypts the private signing keys and webhook secrets in the database. Default: the file `master.key` in the data folder, made with mode 0600; with PostgreSQL it must be set. Make one with `openssl rand -base64 32`. Without it the database cannot be opened: keep a copy apart from the backups.',
  },
  SIGNET_ACCESS_TOKEN_SECONDS: {
    parse: integer(1, LONGEST_TOKEN_SECONDS),
    fallback: '3600',
    shape: `1–${LONGEST_TOKEN_SECONDS}`,
    about: 'How long an access token lives where its organization has no `jwt_expiry_secs`.',
  },
  SIGNET_REFRESH_TOKEN_SECONDS: {
    parse: integer(1, 31_536_000),
    fallback: '2592000',
    shape: '1–31536000',
    about: 'How long a grant can be refreshed, counted from its first token.',
  },
  SIGNET_REFRESH_TOKENS: {
    parse: oneOf('on', 'off'),
    fallback: 'on',
    shape: '`on` or `off`',
    about: '`off` answers no refresh token to the client credentials grant, as RFC 6749 §4.4.3 advises.',
  },
  SIGNET_SCOPES: {
    parse: scopes,
    fallback: SPECIFIED_SCOPES.join(' '),
    shape: 'names between spaces',
    about: 'The scopes that agents can hold: `read`, `write` and `admin`, and any that you add.',
  },
  SIGNET_AUDIENCE: {
    parse: nonEmpty,
    fallback: null,
    shape: 'text, by custom a URL',
    about: 'What stands as `aud` in every access token. Default: the issuer.',
  },
  SIGNET_INTROSPECTION_AUTH: {
    parse: oneOf('open', 'required'),
    fallback: 'open',
    shape: '`open` or `required`',
    about:
      '`required` asks callers of the introspection endpoint for client credentials, as RFC 7662 §2.1 wants.',
  },
  SIGNET_INTROSPECTION_REASON: {
    parse: oneOf('on', 'off'),
    fallback: 'on',
    shape: '`on` or `off`',
    about:
      '`off` answers of an inactive token that it is inactive and not why, as RFC 7662 §2.2 advises. Events still have the reason.',
  },
  SIGNET_REVOCATION_AUTH: {
    parse: oneOf('open', 'required'),
    fallback: 'open',
    shape: '`open` or `required`',
    about:
      '`required` asks callers of the revocation endpoint for client credentials and lets each client revoke its own tokens alone, as RFC 7009 §2.1 wants.',
  },
  SIGNET_TOKEN_RATE: {
    parse: integer(1, 1_000_000),
    fallback: null,
    shape: '1–1000000',
    about:
      'The most tokens per minute that an agent gets, by any grant; beyond it the answer is 429. Each process of each instance counts for itself, so with several of them an agent can get as many times more. Default: no limit.',
  },
  SIGNET_MAX_CONNECTIONS: {
    parse: integer(1, 1_000_000),
    fallback: '12000',
    shape: '1–1000000',
    about:
      'The most connections that each process has at a time; more are closed as they come. Each needs a file descriptor, and can make the service hold 64 KiB of a body that has not arrived whole.',
  },
  SIGNET_REQUEST_SECONDS: {
    parse: integer(1, 300),
    fallback: '30',
    shape: '1–300',
    about:
      'How long a request may take to arrive; its header ten seconds of that at most. What takes longer is answered 408, and the connection closed.',
  },
  SIGNET_WEBHOOK_TARGETS: {
    parse: oneOf('any', 'public'),
    fallback: 'any',
    shape: '`any` or `public`',
    about:
      '`public` sends events to public addresses only. Link-local and metadata addresses are refused always.',
  },
  SIGNET_KEY_ROTATION_DAYS: {
    parse: integer(1, 3650),
    fallback: '90',
    shape: '1–3650',
    about: 'How long a signing key signs before the next one takes over by itself.',
  },
  SIGNET_AUDIT_DAYS: {
    parse: integer(0, 36_500),
    fallback: '365',
    shape: '0–36500',
    about: 'How long entries of the audit log are kept; 0 keeps them for ever.',
  },
  SIGNET_TRUSTED_PROXIES: {
    parse: networks,
    fallback: null,
    shape: 'addresses and networks between spaces, such as `10.0.0.0/8`',
    about:
      'The proxies in front of this service whose `X-Forwarded-For` is believed: the audit log then has the address of the client, not theirs. Name only proxies that add to that header, and never networks in which clients are. Default: none, and the header is ignored.',
  },
  SIGNET_LOG_LEVEL: {
    parse: oneOf(...LOG_LEVELS),
    fallback: 'info',
    shape: LOG_LEVELS.map((level) => `\`${level}\``).join(', '),
    about: 'At `info` failed requests are logged, at `debug` every request.',
  },
} as const satisfies Record<string, Setting<unknown>>;

function nonEmpty(text: string): string {
  if (text.trim() === '') throw new Problem('must not be empty.');
  return text;
}

function integer(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new Problem(`must be a whole number from ${least} to ${most}, not "${text}".`);
  };
}

function processes(text: string): number | 'auto' {
  if (text === 'auto') return text;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= MOST_PROCESSES) return value;
  throw new Problem(`must be auto, or a whole number from 1 to ${MOST_PROCESSES}, not "${text}".`);
}

function oneOf<const Choice extends string>(...choices: readonly Choice[]): (text: string) => Choice {
  return (text) => {
    const choice = choices.find((candidate) => candidate === text);
    if (choice !== undefined) return choice;
    throw new Problem(`must be one of ${choices.join(', ')}, not "${text}".`);
  };
}

function publicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  // The text is not repeated: what makes it wrong may be a password.
  if (!isWeb || /[?#]/.test(text) || url.username !== '' || url.password !== '') {
    throw new Problem('must be an http or https URL without query, fragment and user name.');
  }
  return text.replace(/\/+$/, '');
}

/** A database as a path or a URL. */
export function database(text: string): { kind: 'sqlite'; path: string } | { kind: 'postgres'; url: string } {
  if (/^postgres(ql)?:/.test(text)) return { kind: 'postgres', url: postgresUrl(text) };
  const path = text.replace(/^sqlite:(\/\/)?/, '');
  if (path === '' || /^[a-z]+:\/\//.test(path)) {
    throw new Problem('must be a path, sqlite:PATH, or postgres://USER:PASSWORD@HOST:PORT/DATABASE.');
  }
  return { kind: 'sqlite', path: resolve(path) };
}

/** The text is never repeated: there is a password in it. */
function postgresUrl(text: string): string {
  const [, hosts = ''] = /^[a-z]+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(text) ?? [];
  if (hosts.includes(',')) {
    throw new Problem('must name one host: a name, an address or a balancer that moves with the primary.');
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.pathname.length < 2) {
    throw new Problem(
      'must be postgres://USER:PASSWORD@HOST:PORT/DATABASE, with %-signs for special characters.',
    );
  }
  const mode = sslModeOf(text);
  if (!SSL_MODES.some((known) => known === mode)) {
    throw new Problem(`must have one of ${SSL_MODES.join(', ')} as its sslmode.`);
  }
  if (mode === 'verify-ca' && !url.searchParams.has('sslrootcert')) {
    throw new Problem(
      'must name a certificate authority as sslrootcert for sslmode=verify-ca; or use verify-full.',
    );
  }
  return text;
}

function email(text: string): string {
  if (EMAIL_PATTERN.test(text)) return text.toLowerCase();
  throw new Problem('must be an e-mail address.');
}

function password(text: string): string {
  if (text.length >= SHORTEST_PASSWORD && text.length <= LONGEST_PASSWORD) return text;
  throw new Problem(`must have ${SHORTEST_PASSWORD} to ${LONGEST_PASSWORD} characters.`);
}

function masterKey(text: string): MasterKey {
  const key = toMasterKey(text);
  if (key === null) throw new Problem('must be the base64 of exactly 32 bytes: openssl rand -base64 32.');
  return key;
}

function networks(text: string): string[] {
  const names = text.split(/[\s,]+/).filter((name) => name !== '');
  const wrong = names.find((name) => !isNetwork(name));
  if (wrong !== undefined) throw new Problem(`has what is neither an address nor a network: "${wrong}".`);
  return names;
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

function scopes(text: string): string[] {
  const names = [...new Set(text.split(' ').filter((name) => name !== ''))];
  const wrong = names.find((name) => !new RegExp(SCOPE_TOKEN_PATTERN).test(name));
  if (wrong !== undefined) throw new Problem(`has a name that is not a scope: "${wrong}".`);
  const missing = SPECIFIED_SCOPES.filter((name) => !names.includes(name));
  if (missing.length > 0) throw new Problem(`must include ${missing.join(', ')}.`);
  return names;
}

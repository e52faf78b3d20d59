import pg from 'pg';
import { DatabaseUnavailable, DatabaseUnusable, UniqueViolation } from './database.ts';
import { migrate } from './migrate.ts';
import { PostgresConnection, types } from './postgres-connection.ts';
import { codeOf, isUnavailable } from './postgres-errors.ts';
import {
  connectionConfig,
  type PostgresOptions,
  placeOf,
  sessionSettings,
  sslModeOf,
} from './postgres-url.ts';

const SETTING = 'SIGNET_DATABASE_URL';
const OLDEST_VERSION = 140_000;
/** "Signet", as one number: whoever migrates holds the advisory lock of it. */
const MIGRATION_LOCK = 0x53_69_67_6e_65_74;

/** Sees that the server can be used as the pool will use it, and says whether connections to it are encrypted. */
export async function openServer(options: PostgresOptions): Promise<{ isEncrypted: boolean }> {
  const { isEncrypted } = await atServer(options.url, async () => {}, sessionSettings(options));
  return { isEncrypted };
}

/** Brings the tables up to date and answers what was applied. */
export async function migrateServer({ url }: PostgresOptions): Promise<string[]> {
  return (await atServer(url, migrateWithin)).value;
}

/** A connection to a server that can be used. `setting` is where its URL comes from, for the sentences of refusals. */
export async function openClient(url: string, setting: string): Promise<pg.Client> {
  try {
    const { client } = await connect(url);
    try {
      await requireVersion(client);
      return client;
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
  } catch (error) {
    throw explain(error, url, setting);
  }
}

/** On a connection of its own, to a server that can be used. */
async function atServer<T>(
  url: string,
  run: (client: pg.Client) => Promise<T>,
  settings?: pg.ClientConfig,
): Promise<{ isEncrypted: boolean; value: T }> {
  try {
    const { client, isEncrypted } = await connect(url, settings);
    try {
      await requireVersion(client);
      return { isEncrypted, value: await run(client) };
    } finally {
      await client.end().catch(() => {});
    }
  } catch (error) {
    throw explain(error, url);
  }
}

/** `prefer` is a matter of the server: encrypted where it can, in the clear where it cannot. */
async function connect(
  url: string,
  settings?: pg.ClientConfig,
): Promise<{ client: pg.Client; isEncrypted: boolean }> {
  const attempt = async (isEncrypted: boolean) => ({
    client: await open({ ...connectionConfig(url, { isEncrypted }), ...settings }),
    isEncrypted,
  });
  const mode = sslModeOf(url);
  if (mode === 'disable') return attempt(false);
  try {
    return await attempt(true);
  } catch (error) {
    if (mode !== 'prefer' || !isWithoutTls(error)) throw error;
    return attempt(false);
  }
}

async function open(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client({ ...config, types });
  client.on('error', () => {});
  await client.connect();
  return client;
}

const isWithoutTls = (error: unknown): boolean =>
  error instanceof Error && error.message === 'The server does not support SSL connections';

async function requireVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ number: number; version: string }>(
    "select current_setting('server_version_num')::int as number, current_setting('server_version') as version",
  );
  const [found] = rows;
  if (found === undefined || found.number >= OLDEST_VERSION) return;
  throw new DatabaseUnusable(`The server is PostgreSQL ${found.version}. Signet needs version 14 or later.`);
}

/**
 * All of it in one transaction: a crash leaves the database as it was. Of instances that start at once one migrates,
 * and the others wait for its lock, for as long as it takes, and then find nothing to do.
 */
async function migrateWithin(client: pg.Client): Promise<string[]> {
  const connection = new PostgresConnection(client, { names: null, giveBack: () => {} });
  await connection.query('begin isolation level read committed');
  await connection.query('set local statement_timeout = 0');
  await lockMigrations(connection);
  const applied = await migrate(connection.queries());
  await connection.query('commit');
  return applied;
}

/** Held to the end of the transaction: nobody else migrates meanwhile, and so no service starts. */
export async function lockMigrations(connection: PostgresConnection): Promise<void> {
  await connection.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
}

/** What stops the start, in sentences that say what to do. Never the URL, which has a password in it. */
function explain(error: unknown, url: string, setting = SETTING): DatabaseUnusable {
  if (error instanceof DatabaseUnusable) return error;
  const isOurs = error instanceof DatabaseUnavailable || error instanceof UniqueViolation;
  const text = sentence(isOurs ? error.cause : error, placeOf(url));
  return new DatabaseUnusable(text.replaceAll(SETTING, setting), { cause: error });
}

function sentence(error: unknown, place: string): string {
  const code = codeOf(error);
  const known = SENTENCES.find(([codes]) => codes.includes(code));
  if (known !== undefined) return known[1].replace('PLACE', place);
  const message = error instanceof Error ? error.message : String(error);
  if (isWithoutTls(error)) {
    return `The database server at ${place} offers no TLS. Turn it on there, or set sslmode in SIGNET_DATABASE_URL.`;
  }
  if (/CERT|ALTNAME|SIGNATURE|SSL/.test(code)) {
    return `The certificate of the database server at ${place} is not trusted (${code}). Name its authority with sslrootcert in SIGNET_DATABASE_URL.`;
  }
  if (code === POOLER_REFUSES && /startup parameter/.test(message)) {
    return `The pooler at ${place} refuses the settings of a session. Set SIGNET_DATABASE_STATEMENTS=unnamed, or let it ignore them.`;
  }
  if (code === POOLER_REFUSES) {
    return `What answers at ${place} refuses the connection: ${message}. Correct SIGNET_DATABASE_URL, or the settings of the pooler there.`;
  }
  if (isUnavailable(error)) {
    return `No PostgreSQL server answers at ${place} (${code || message}). Start it, or correct SIGNET_DATABASE_URL.`;
  }
  return `The database at ${place} cannot be used: ${message}`;
}

/** The code of all that PgBouncer refuses by itself: a password, a user, a database, a setting of the session. */
const POOLER_REFUSES = '08P01';

const SENTENCES: ReadonlyArray<readonly [codes: readonly string[], sentence: string]> = [
  [
    ['28P01', '28000'],
    'The database server at PLACE refuses the user or the password. Correct them in SIGNET_DATABASE_URL.',
  ],
  [
    ['3D000'],
    'The database server at PLACE has no database of this name. Create it, or correct SIGNET_DATABASE_URL.',
  ],
  [
    ['42501', '3F000'],
    'The user of SIGNET_DATABASE_URL may not make tables in the database at PLACE. Make it the owner of the database.',
  ],
  [
    ['53300'],
    'The database server at PLACE has no connection left. Raise its max_connections, or stop another client.',
  ],
  [
    ['25006'],
    'The database server at PLACE is a read-only replica. Name the primary in SIGNET_DATABASE_URL.',
  ],
  [
    ['ENOENT', 'EACCES'],
    'There is no socket at PLACE, or a file that SIGNET_DATABASE_URL names cannot be read.',
  ],
];

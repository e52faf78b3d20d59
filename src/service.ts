import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type Logger, pino } from 'pino';
import { Administrators } from './admin/administrators.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import { openSqlite } from './db/sqlite.ts';
import { Outbox } from './events/outbox.ts';
import { createApp } from './http/app.ts';
import { createIds, type Ids } from './ids.ts';
import { KeyRing } from './keys/key-ring.ts';
import { createSigner } from './keys/signer.ts';
import { openMasterKey } from './master-key.ts';
import { createMetrics } from './metrics.ts';
import { createAccessTokenVerifier } from './oauth/access-token.ts';
import { SqliteTokensStore } from './oauth/tokens.store.sqlite.ts';
import { coalesceTokens } from './oauth/tokens.store.ts';
import { LONGEST_TOKEN_SECONDS } from './organizations/organization.ts';
import { version } from './version.ts';
import { loadSubscriptions } from './webhooks/webhooks.store.ts';
import { prune } from './workers/prune.worker.ts';
import { every, type Worker } from './workers/worker.ts';

export interface Service {
  /** The administrator that was made first, with the password where it was generated just now. */
  readonly administrator: { email: string; generatedPassword: string | null };
  start(): Promise<void>;
  /** Stops accepting, finishes what is under way and closes the store. May be called twice. */
  stop(): Promise<void>;
}

interface Outside {
  clock?: Clock;
  ids?: Ids;
  log?: Logger;
}

const DAY_MILLISECONDS = 86_400_000;
/** A token that is being signed while its key retires is still verified until its last second. */
const ROTATION_SLACK_MILLISECONDS = 60_000;
const MAINTAIN_KEYS_MILLISECONDS = 60_000;
const PRUNE_MILLISECONDS = 60_000;
/** How long a stop waits for requests under way before it cuts them off. */
const FINISH_MILLISECONDS = 8000;

/** The only wiring: everything is opened and constructed here, in order, and handed what it uses. */
export async function createService(config: Config, outside: Outside = {}): Promise<Service> {
  const log = outside.log ?? createLog(config);
  const clock = outside.clock ?? systemClock;
  const ids = outside.ids ?? createIds(clock);
  const metrics = createMetrics();
  const database = await openSqlite(config.databasePath, metrics.observeCommit);
  try {
    const masterKey = await openMasterKey(database, {
      configured: config.masterKey,
      path: join(config.dataDir, 'master.key'),
    });
    const keyRing = new KeyRing({
      database,
      clock,
      masterKey,
      sign: createSigner(availableParallelism()),
      rotationMilliseconds: config.keyRotationDays * DAY_MILLISECONDS,
      longestTokenMilliseconds: LONGEST_TOKEN_SECONDS * 1000 + ROTATION_SLACK_MILLISECONDS,
    });
    await keyRing.open();
    const administrators = new Administrators({ database, clock, ids });
    const administrator = await firstAdministrator(administrators, config, log);
    const outbox = new Outbox({ clock, ids, loadSubscriptions });
    await outbox.reload(database.reader);
    const app = await createApp({
      database,
      clock,
      ids,
      log,
      metrics,
      masterKey,
      keyRing,
      administrators,
      outbox,
      version,
      tokens: coalesceTokens(new SqliteTokensStore(database)),
      verifyAccessToken: createAccessTokenVerifier({ keyRing, issuer: config.publicUrl }),
      issuer: config.publicUrl,
      audience: config.audience,
      scopes: config.scopes,
      accessTokenSeconds: config.accessTokenSeconds,
      refreshTokenSeconds: config.hasRefreshTokens ? config.refreshTokenSeconds : null,
      isIntrospectionOpen: config.isIntrospectionOpen,
    });
    const workers = [
      every({
        name: 'rotate-keys',
        intervalMs: MAINTAIN_KEYS_MILLISECONDS,
        runOnce: () => keyRing.maintain(),
        log,
      }),
      every({
        name: 'prune',
        intervalMs: PRUNE_MILLISECONDS,
        runOnce: () => prune({ database, clock }),
        log,
      }),
    ];
    // Whatever came due while the service was off is done before the first request.
    await keyRing.maintain();
    return { administrator, ...lifecycle({ app, database, workers, config }) };
  } catch (error) {
    await database.close();
    throw error;
  }
}

interface Parts {
  app: FastifyInstance;
  database: Database;
  workers: readonly Worker[];
  config: Config;
}

function lifecycle({ app, database, workers, config }: Parts): Pick<Service, 'start' | 'stop'> {
  let stopping: Promise<void> | null = null;
  async function stopAll(): Promise<void> {
    const cut = setTimeout(() => app.server.closeAllConnections(), FINISH_MILLISECONDS);
    await app.close();
    clearTimeout(cut);
    await Promise.all(workers.map((worker) => worker.stop()));
    await database.close();
  }
  return {
    async start() {
      await app.listen({ host: config.host, port: config.port });
      for (const worker of workers) worker.start();
    },
    stop() {
      stopping ??= stopAll();
      return stopping;
    },
  };
}

async function firstAdministrator(
  administrators: Administrators,
  config: Config,
  log: Logger,
): Promise<Service['administrator']> {
  const generated = config.adminPassword === null ? randomBytes(18).toString('base64url') : null;
  const { adminEmail } = config;
  const { email, isNew } = await administrators.ensureFirst({
    email: adminEmail ?? 'admin@localhost',
    password: config.adminPassword ?? (generated as string),
  });
  if (!isNew && adminEmail !== null && adminEmail !== email) {
    log.warn(`SIGNET_ADMIN_EMAIL is not used: there is an administrator already, ${email}`);
  }
  return { email, generatedPassword: isNew ? generated : null };
}

/** To standard error: standard output is for people. */
function createLog(config: Config): Logger {
  return pino(
    {
      level: config.logLevel,
      base: null,
      redact: ['req.headers.authorization', '*.password', '*.secret', '*.client_secret', '*.token'],
    },
    pino.destination({ dest: 2, sync: true }),
  );
}

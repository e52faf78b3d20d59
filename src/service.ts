import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { Administrators } from './admin/administrators.ts';
import { generatePassword, type HashPassword } from './admin/password.ts';
import { forgetOldEntries } from './audit/forget.worker.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Config } from './config.ts';
import type { CommitObserver, Database } from './db/database.ts';
import { OutageWatch } from './db/outage-watch.ts';
import { Outbox } from './events/outbox.ts';
import { createApp } from './http/app.ts';
import { Goodbye } from './http/goodbye.ts';
import { createIds, type Ids } from './ids.ts';
import type { GenerateKey } from './keys/signing-key.ts';
import { createLog } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { createAccessTokenVerifier } from './oauth/access-token.ts';
import { ExpiryFloor } from './oauth/expiry-floor.ts';
import { createGrantTurns } from './oauth/grant-turns.ts';
import { prune } from './oauth/prune.worker.ts';
import { coalesceTokens } from './oauth/tokens.store.ts';
import { openDatabase } from './open-database.ts';
import { openKeys, signaturesAtOnce } from './open-keys.ts';
import type { Snapshot } from './processes/messages.ts';
import { version } from './version.ts';
import { createAttempts } from './webhooks/attempt.ts';
import { Backlogs } from './webhooks/backlog.ts';
import { DeliverWorker } from './webhooks/deliver.worker.ts';
import { SLOT_LIMITS } from './webhooks/send-slots.ts';
import { SendingThread } from './webhooks/sending-thread.ts';
import { keepUp, recountBacklogs } from './webhooks/upkeep.worker.ts';
import { subscriptions } from './webhooks/webhooks.store.ts';
import { inTurn } from './workers/in-turn.ts';
import { every, type Worker } from './workers/worker.ts';

export interface Service {
  /** The administrator that was made first, with the password where it was generated just now. */
  readonly administrator: { email: string; generatedPassword: string | null };
  start(): Promise<void>;
  /**
   * Stops accepting, finishes what is under way and closes the store. May be called twice. With `isLeaving` another
   * process goes on serving, and clients have some time to end their connections.
   */
  stop(options?: { isLeaving: boolean }): Promise<void>;
  /** The metrics of this process. */
  metrics(): Promise<Snapshot>;
}

interface Outside {
  clock?: Clock;
  ids?: Ids;
  log?: Logger;
  generateKey?: GenerateKey;
  /** For the first administrator. */
  hashPassword?: HashPassword;
  /** From 0 up to 1; spreads retries. */
  random?: () => number;
  /** The metrics of all processes of this instance, where there are several. */
  allMetrics?: () => Promise<readonly Snapshot[]>;
}

const MINUTE_MILLISECONDS = 60_000;
/** How long a stop waits for requests under way before it cuts them off. */
const FINISH_MILLISECONDS = 8000;
/** How long clients may take to end their connections to a process that others replace. */
const GOODBYE_MILLISECONDS = 3000;

/** The only wiring: everything is opened and constructed here, in order, and handed what it uses. */
export async function createService(config: Config, outside: Outside = {}): Promise<Service> {
  const log = outside.log ?? createLog(config);
  const clock = outside.clock ?? systemClock;
  const ids = outside.ids ?? createIds(clock);
  const metrics = createMetrics(outside.allMetrics);
  let afterCommit: CommitObserver = () => {};
  const outages = new OutageWatch({ log });
  const opened = await openDatabase(config.database, {
    onOutage: (cause) => outages.note(cause),
    onCommit(commit) {
      metrics.observeCommit(commit.transactions, commit.seconds);
      afterCommit(commit);
    },
  });
  const { database, tokensStore, queue, isShared } = opened;
  try {
    const { masterKey, audit, keyRing } = await openKeys(config, {
      database,
      clock,
      generateKey: outside.generateKey,
    });
    const administrators = new Administrators({ database, clock, ids, audit, hash: outside.hashPassword });
    const administrator = await firstAdministrator(administrators, config, log);
    const backlogs = new Backlogs();
    const outbox = new Outbox({
      clock,
      ids,
      store: queue,
      subscriptions,
      database,
      isShared,
      hasFullBacklog: (webhookId) => backlogs.isFull(webhookId),
    });
    await outbox.reload(database.reader);
    const sender = new SendingThread({
      policy: config.webhookTargets,
      connectionsPerReceiver: SLOT_LIMITS.total,
    });
    const random = outside.random ?? Math.random;
    const makeAttempt = createAttempts({ clock, masterKey, sender, metrics, random });
    const deliver = new DeliverWorker({
      database,
      clock,
      queue,
      outbox,
      audit,
      sender,
      makeAttempt,
      log,
      outages,
    });
    afterCommit = ({ tx }) => {
      if (outbox.takeNews(tx)) deliver.wake();
    };
    metrics.watchDatabase(() => !outages.isOn);
    metrics.watchDeliveries(() => ({
      waiting: backlogs.waiting,
      oldestDueSeconds: backlogs.oldestDueSeconds(clock.now()),
    }));
    const expiryFloor = new ExpiryFloor({ database, clock });
    await expiryFloor.share();
    const goodbye = new Goodbye();
    const app = await createApp({
      database,
      clock,
      ids,
      log,
      metrics,
      outages,
      masterKey,
      audit,
      keyRing,
      administrators,
      outbox,
      queue,
      makeAttempt,
      version,
      tokens: coalesceTokens(tokensStore, (tx, happenings) => outbox.publishAll(tx, happenings)),
      expiryFloor,
      verifyAccessToken: createAccessTokenVerifier({ keyRing, issuer: config.publicUrl }),
      issuer: config.publicUrl,
      audience: config.audience,
      scopes: config.scopes,
      accessTokenSeconds: config.accessTokenSeconds,
      refreshTokenSeconds: config.hasRefreshTokens ? config.refreshTokenSeconds : null,
      isIntrospectionOpen: config.isIntrospectionOpen,
      isRevocationOpen: config.isRevocationOpen,
      hasReasons: config.hasReasons,
      maxConnections: config.maxConnections,
      requestSeconds: config.requestSeconds,
      takeTurn: createGrantTurns({
        clock,
        signaturesAtOnce: signaturesAtOnce(config.processes),
        tokensPerMinute: config.tokensPerMinute,
      }),
      goodbye,
      trustedProxies: config.trustedProxies,
    });
    const turns = { database, clock, isShared, intervalMs: MINUTE_MILLISECONDS };
    const regular: readonly [string, number, () => Promise<void>][] = [
      ['rotate-keys', MINUTE_MILLISECONDS, () => keyRing.maintain()],
      ['prune', MINUTE_MILLISECONDS, inTurn(turns, 'prune', () => prune({ database, clock, expiryFloor }))],
      // More often than it is raised, so that it is known before anything is forgotten.
      ['expiry-floor', MINUTE_MILLISECONDS / 3, () => expiryFloor.share()],
      [
        'webhook-upkeep',
        MINUTE_MILLISECONDS,
        inTurn(turns, 'webhook_upkeep', () => keepUp({ database, clock })),
      ],
      [
        'forget-audit',
        MINUTE_MILLISECONDS,
        inTurn(turns, 'forget_audit', () =>
          forgetOldEntries({ database, clock, key: audit.key, keptDays: config.auditDays }),
        ),
      ],
      ['count-backlogs', 5000, () => recountBacklogs({ database, backlogs })],
    ];
    const workers: Worker[] = [
      deliver,
      ...regular.map(([name, intervalMs, runOnce]) =>
        every({ name, clock, intervalMs, runOnce, log, outages }),
      ),
    ];
    // Whatever came due while the service was off is done before the first request.
    await keyRing.maintain();
    return { administrator, ...lifecycle({ app, database, workers, config, metrics, goodbye }) };
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
  metrics: Metrics;
  goodbye: Goodbye;
}

function lifecycle({
  app,
  database,
  workers,
  config,
  metrics,
  goodbye,
}: Parts): Pick<Service, 'start' | 'stop' | 'metrics'> {
  let stopping: Promise<void> | null = null;
  const cutAfter = (milliseconds: number) =>
    setTimeout(() => app.server.closeAllConnections(), milliseconds).unref();
  async function stopAll(): Promise<void> {
    await Promise.all([app.close(), ...workers.map((worker) => worker.stop())]);
    await database.close();
  }
  return {
    async start() {
      await app.listen({ host: config.host, port: config.port });
      for (const worker of workers) worker.start();
    },
    metrics: () => metrics.snapshot(),
    stop({ isLeaving } = { isLeaving: false }) {
      if (isLeaving) goodbye.allow(GOODBYE_MILLISECONDS);
      else goodbye.hurry();
      cutAfter(isLeaving ? GOODBYE_MILLISECONDS + FINISH_MILLISECONDS : FINISH_MILLISECONDS);
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
  const generated = config.adminPassword === null ? generatePassword() : null;
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

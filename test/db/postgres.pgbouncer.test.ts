import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openPostgres } from '../../src/db/postgres.ts';
import { certificatePath } from '../certificates.ts';
import { TestClock } from '../clock.ts';
import { createPostgres, databaseKinds } from '../databases.ts';
import { send, startService, type TestService } from '../harness.ts';
import { assertNothingLost, progress, startLoad } from '../outage/load.ts';
import { startWire } from '../outage/wire.ts';
import { until } from '../until.ts';
import { pgBouncerVersion, startPgBouncer } from './pgbouncer.ts';
import { unusable } from './postgres.ts';

const version = pgBouncerVersion();
/** From then on it knows the names of statements itself, and prepares them on whichever connection it takes. */
const knowsNames = version !== null && (version.major > 1 || version.minor >= 21);
const NAMES = [
  'max_prepared_statements = 200',
  'ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout',
];

const authority = certificatePath('authority.crt');

function reasonToSkip(): string | false {
  if (!databaseKinds.includes('PostgreSQL')) return 'this run has no PostgreSQL';
  return version === null && 'there is no pgbouncer on the path';
}

describe('PgBouncer in transaction mode', { skip: reasonToSkip() }, () => {
  for (const [statements, lines, skip] of [
    ['unnamed', [], false],
    ['named', NAMES, !knowsNames && 'this PgBouncer is older than 1.21'],
  ] as const) {
    test(`${statements} statements over TLS: two instances start on an empty database and lose nothing under load`, {
      skip,
    }, async () => {
      const place = await createPostgres({ isEmpty: true });
      const direct = place.env['SIGNET_DATABASE_URL'] ?? '';
      const bouncer = await startPgBouncer(direct, lines);
      const env = {
        ...place.env,
        SIGNET_DATABASE_URL: bouncer.through(direct, { authority }),
        SIGNET_DATABASE_STATEMENTS: statements,
        SIGNET_PUBLIC_URL: 'https://signet.test',
      };
      const both = { env, clock: new TestClock() };
      const started = await Promise.allSettled([startService(both), startService(both)]);
      const services = started.filter((each) => each.status === 'fulfilled').map(({ value }) => value);
      try {
        assert.deepEqual(
          started.map(({ status }) => status),
          ['fulfilled', 'fulfilled'],
        );
        const loads = services.map(({ url }: TestService) => startLoad(url));
        await Promise.all(loads.map((load) => progress(load)));
        for (const load of loads) await load.stop();
        // What one has acknowledged, the other obeys.
        for (const [index, load] of loads.entries()) {
          assert.equal(load.refused, 0);
          await assertNothingLost(services[1 - index]?.url ?? '', load);
        }
      } finally {
        for (const service of services) await service.stop();
        await bouncer.stop();
        await place.remove();
      }
    });
  }

  test('the start says what PgBouncer refuses: a password, a setting of the session', async () => {
    const place = await createPostgres();
    const direct = place.env['SIGNET_DATABASE_URL'] ?? '';
    const bouncer = await startPgBouncer(direct, []);
    const right = bouncer.through(direct);
    const wrong = Object.assign(new URL(right), { password: 'guessed' }).href;
    try {
      for (const [url, hasNamedStatements, reason] of [
        [wrong, false, /refuses the connection: .*authentication failed/],
        [right, true, /refuses the settings of a session. Set SIGNET_DATABASE_STATEMENTS=unnamed/],
      ] as const) {
        await assert.rejects(openPostgres({ url, connections: 1, hasNamedStatements }), unusable(reason));
      }
    } finally {
      await bouncer.stop();
      await place.remove();
    }
  });

  test('a server that it cannot reach is an outage like any other, and ends by itself', async () => {
    const place = await createPostgres();
    const direct = new URL(place.env['SIGNET_DATABASE_URL'] ?? '');
    const wire = await startWire({ host: direct.hostname, port: Number(direct.port) });
    direct.port = String(wire.port);
    const bouncer = await startPgBouncer(direct.href, ['query_wait_timeout = 1', 'server_login_retry = 1']);
    const url = bouncer.through(direct.href);
    const service = await startService({
      env: { ...place.env, SIGNET_DATABASE_URL: url, SIGNET_DATABASE_STATEMENTS: 'unnamed' },
    });
    try {
      const isReady = async () => (await send(service.url, 'GET', '/readyz')).status === 200;
      const told = (text: string) => service.logLines.filter((line) => line.includes(text)).length;
      assert.ok(await isReady());
      wire.set('shut');
      wire.cut();
      await until('the outage', async () => !(await isReady()));
      assert.equal(told('the database is away'), 1);
      wire.set('open');
      await until('its end', isReady);
      assert.equal(told('the database is back'), 1);
    } finally {
      await service.stop();
      await bouncer.stop();
      await wire.close();
      await place.remove();
    }
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TestClock } from '../clock.ts';
import { createPostgres, databaseKinds } from '../databases.ts';
import { startService, type TestService } from '../harness.ts';
import { assertNothingLost, progress, startLoad } from '../outage/load.ts';
import { pgBouncerVersion, startPgBouncer } from './pgbouncer.ts';

const version = pgBouncerVersion();
/** From then on it knows the names of statements itself, and prepares them on whichever connection it takes. */
const knowsNames = version !== null && (version.major > 1 || version.minor >= 21);
const NAMES = [
  'max_prepared_statements = 200',
  'ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout',
];

function reasonToSkip(): string | false {
  if (!databaseKinds.includes('PostgreSQL')) return 'this run has no PostgreSQL';
  return version === null && 'there is no pgbouncer on the path';
}

describe('PgBouncer in transaction mode', { skip: reasonToSkip() }, () => {
  for (const [statements, lines, skip] of [
    ['unnamed', [], false],
    ['named', NAMES, !knowsNames && 'this PgBouncer is older than 1.21'],
  ] as const) {
    test(`${statements} statements: two instances start on an empty database and lose nothing under load`, {
      skip,
    }, async () => {
      const place = await createPostgres({ isEmpty: true });
      const direct = place.env['SIGNET_DATABASE_URL'] ?? '';
      const bouncer = await startPgBouncer(direct, lines);
      const env = {
        ...place.env,
        SIGNET_DATABASE_URL: bouncer.through(direct),
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
});

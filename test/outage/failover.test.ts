import { describe, test } from 'node:test';
import { TestClock } from '../clock.ts';
import { databaseKinds } from '../databases.ts';
import { send, startService } from '../harness.ts';
import { until } from '../until.ts';
import { assertNothingLost, progress, refusals, startLoad } from './load.ts';
import { startReplicas } from './replicas.ts';
import { startWire } from './wire.ts';

const MASTER_KEY = Buffer.alloc(32, 'failover').toString('base64');

describe('PostgreSQL', { skip: !databaseKinds.includes('PostgreSQL') }, () => {
  test('the primary dies under load and its synchronous replica takes over: service goes on by itself, and nothing acknowledged is lost', async (t) => {
    const replicas = await startReplicas();
    const { primary, replica, killPrimary, promote } = replicas;
    // What operators have in front: a name, an address or a balancer that moves with the primary.
    const way = { host: '127.0.0.1', port: primary.port };
    const wire = await startWire(way);
    const url = replicas.url.replace(`:${primary.port}/`, `:${wire.port}/`);
    const service = await startService({
      clock: new TestClock(),
      env: { SIGNET_DATABASE_URL: url, SIGNET_MASTER_KEY: MASTER_KEY },
    });
    try {
      const load = startLoad(service.url);
      await progress(load);
      await killPrimary();
      await refusals(load);
      // Too early, which is what names and balancers do: it answers, and takes no writes yet.
      way.port = replica.port;
      await until('an answer', async () => (await send(service.url, 'GET', '/readyz')).status === 200);
      await refusals(load);
      await promote();
      const promoted = performance.now();
      await progress(load, 1);
      t.diagnostic(`${Math.round(performance.now() - promoted)} ms from the promotion to the first change`);
      await progress(load);
      await load.stop();
      await assertNothingLost(service.url, load);
    } finally {
      await service.stop();
      await wire.close();
      await replicas.remove();
    }
  });
});

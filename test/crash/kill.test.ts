import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from '../chaos/chaos.ts';
import { createRandom } from '../chaos/random.ts';

const SECONDS = 3;

/** A slice of `npm run chaos`, another one each time; what fails says with which seed it was. */
test('kill -9 at random moments amid changes of every kind: nothing acknowledged is lost, nothing revoked lives, counters never fall', async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const report = await chaos({
    seconds: SECONDS,
    leastAcknowledged: 100,
    random: createRandom(seed),
    longestLifeSeconds: 1.5,
    waitsForEvents: false,
  });
  t.diagnostic(`seed ${seed}: ${JSON.stringify(report)}`);
  assert.ok(report.kills > 0 && report.agents > 0);
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestService } from '../harness.ts';
import { until } from '../until.ts';
import { countUnderWay, insertBacklog } from './backlog-rows.ts';
import { answer, hang, type Receiver, startReceiver } from './faults/receiver.ts';
import { createHook, type Hook, listDeliveries } from './faults/scene.ts';

const WAITING = 100_000;
const HEALTHY = 50;
const EVENTS = 4;
/** All that one webhook may have under way. */
const SLOTS = 4;

let service: TestService;
let healthy: Receiver;
let hanging: Receiver;
let deaf: Hook;
const hooks: Hook[] = [];
before(async () => {
  service = await startService();
  healthy = await startReceiver(answer(200));
  hanging = await startReceiver(hang);
  for (let made = 0; made < HEALTHY; made++) hooks.push(await createHook(service, healthy.url));
  deaf = await createHook(service, hanging.url, 10);
});
after(async () => {
  await hanging.close();
  await service.stop();
  await healthy.close();
});

/** Every webhook hears of new agents; each delivery to a healthy one takes a single attempt. */
async function assertAllHear(expected: number): Promise<void> {
  for (let made = 0; made < EVENTS; made++) await service.createAgent();
  await until('the healthy ones', () => healthy.seen.length === HEALTHY * expected);
  for (const hook of hooks) {
    const deliveries = await until('every delivery', async () => {
      const found = await listDeliveries(service, hook);
      return found.every(({ status }) => status === 'delivered') ? found : null;
    });
    assert.deepEqual(
      deliveries.map(({ attempts }) => attempts),
      Array(expected).fill(1),
    );
  }
}

test(`beside ${WAITING} deliveries that wait for a receiver that hangs, ${HEALTHY} webhooks get theirs as they did without`, async () => {
  await service.call('PUT', deaf.path, { admin: true, json: { is_active: false } });
  await assertAllHear(EVENTS);
  await insertBacklog(service.query, {
    webhookId: deaf.id,
    count: WAITING,
    attempts: 0,
    maxAttempts: 10,
    dueAt: service.clock.now(),
  });
  await service.call('PUT', deaf.path, { admin: true, json: { is_active: true } });
  await assertAllHear(2 * EVENTS);

  // No more than the slots of one webhook has left the database: the rest is not held in memory.
  await until('the requests that hang', () => hanging.seen.length >= SLOTS);
  const { underWay, waiting } = await countUnderWay(service.query, deaf.id);
  assert.ok(underWay <= SLOTS);
  assert.equal(waiting, WAITING + EVENTS);
});

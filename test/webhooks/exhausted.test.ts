import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../harness.ts';
import { until } from '../until.ts';
import { insertBacklog } from './backlog-rows.ts';
import { answer, startReceiver } from './faults/receiver.ts';
import { createHook, listDeliveries } from './faults/scene.ts';

test('deliveries whose attempts a crash used up end dead at once, however many, and none is sent', async (t) => {
  const service = await startService();
  const receiver = await startReceiver(answer(200));
  t.after(async () => {
    await service.stop();
    await receiver.close();
  });
  const hook = await createHook(service, receiver.url, 2);
  await insertBacklog(service.query, {
    webhookId: hook.id,
    count: 20,
    attempts: 2,
    maxAttempts: 2,
    dueAt: service.clock.now(),
  });
  await service.createAgent();
  const deliveries = await until('the end of all', async () => {
    const found = await listDeliveries(service, hook);
    return found.every(({ next_attempt_at }) => next_attempt_at === null) ? found : null;
  });
  const dead = deliveries.filter(({ status }) => status === 'dead');
  assert.equal(dead.length, 20);
  assert.ok(dead.every(({ attempts }) => attempts === 2));
  assert.equal(deliveries.length, 21);
  assert.equal(receiver.seen.length, 1);
});

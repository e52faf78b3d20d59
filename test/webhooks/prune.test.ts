import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { startService, type TestService } from '../harness.ts';
import { until } from '../until.ts';
import { createHook } from './hook.ts';
import { type Listener, listen } from './listener.ts';

let service: TestService;
let listener: Listener;
before(async () => {
  [service, listener] = [await startService(), await listen()];
});
after(async () => {
  await service.stop();
  await listener.close();
});

async function rows(): Promise<Record<string, number>> {
  const count = async (table: string) =>
    Number((await service.query(`select count(*) as n from ${table}`))[0]?.['n']);
  return {
    events: await count('events'),
    deliveries: await count('deliveries'),
    attempts: await count('delivery_attempts'),
  };
}

test('deliveries, their attempts and their events go after 30 days, and not before', async () => {
  const hook = await createHook(service, { url: listener.url, events: ['agent.created'] });
  await service.createAgent();
  await hook.newest('delivered');
  service.clock.advance({ days: 1 });
  await service.createAgent();
  const younger = await hook.newest('delivered');
  assert.deepEqual(await rows(), { events: 2, deliveries: 2, attempts: 2 });
  service.clock.advance({ days: 29 });
  await until('the first to go', async () => (await rows())['events'] === 1);
  assert.deepEqual(await rows(), { events: 1, deliveries: 1, attempts: 1 });
  assert.deepEqual(await hook.deliveries(), [younger]);
  await until('the second to go', async () => {
    service.clock.advance({ hours: 1 });
    return (await rows())['events'] === 0;
  });
  assert.deepEqual(await rows(), { events: 0, deliveries: 0, attempts: 0 });
  assert.deepEqual(await hook.deliveries(), []);
  assert.equal((await hook.read()).is_active, true);
});

test('what is redelivered as its event goes ends unsent, and the event cannot be delivered again', async () => {
  const hook = await createHook(service, { url: listener.url, events: ['agent.created'] });
  await service.createAgent();
  const { id: first } = await hook.newest('delivered');
  service.clock.advance({ days: 30, hours: -1 });
  listener.answer = { status: 500 };
  const { body } = await hook.call('POST', `/deliveries/${first}/redeliver`);
  await hook.newest('retrying');
  await hook.call('PUT', '', { is_active: false });
  await until('the event to go', async () => {
    service.clock.advance({ hours: 1 });
    return (await rows())['events'] === 0;
  });
  const sent = listener.received.length;
  listener.answer = { status: 200 };
  await hook.call('PUT', '', { is_active: true });
  const ended = await hook.newest('dead');
  assert.equal(ended.id, body.delivery.id);
  assert.equal(listener.received.length, sent);
  assertError(await hook.call('POST', `/deliveries/${ended.id}/redeliver`), 409, 'conflict');
});

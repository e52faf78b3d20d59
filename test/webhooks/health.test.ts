import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { startService, type TestService } from '../harness.ts';
import { until } from '../until.ts';
import { createHook, type Hook } from './hook.ts';
import { eventIn, type Listener, listen } from './listener.ts';

let service: TestService;
let listener: Listener;
let hook: Hook;
beforeEach(async () => {
  [service, listener] = [await startService(), await listen()];
  hook = await createHook(service, { url: listener.url, events: ['agent.created'], max_retries: 1 });
});
afterEach(async () => {
  await service.stop();
  await listener.close();
});

/** So many deliveries, one after the other, each of one attempt. */
async function deliver(count: number, status: number): Promise<void> {
  listener.answer = { status };
  for (let made = 0; made < count; made++) {
    await service.createAgent();
    await hook.newest(status < 300 ? 'delivered' : 'dead');
  }
}
const isActive = async (): Promise<boolean> => (await hook.read()).is_active;

test('consecutive_fails counts deliveries that ended dead, and a success sets it to 0', async () => {
  await deliver(3, 500);
  assert.equal(await hook.fails(), 3);
  await deliver(1, 200);
  assert.equal(await hook.fails(), 0);
  await deliver(1, 500);
  assert.equal(await hook.fails(), 1);
});

test('consecutive_fails does not count an attempt that will be tried again', async () => {
  await hook.call('PUT', '', { max_retries: 2 });
  listener.answer = { status: 500 };
  await service.createAgent();
  await hook.newest('retrying');
  assert.equal(await hook.fails(), 0);
  await hook.retry();
  assert.equal(await hook.fails(), 1);
});

test('ten dead in a row with no success for 24 hours deactivate the webhook, and others hear why', async () => {
  const witness = await createHook(service, { url: `${listener.url}/witness`, events: ['webhook.updated'] });
  await deliver(9, 500);
  service.clock.advance({ hours: 24 });
  assert.equal(await isActive(), true);
  await deliver(1, 500);
  assert.equal(await isActive(), false);
  assert.equal(await hook.fails(), 10);
  await until('the event', () => listener.received.some(({ path }) => path === '/hook/witness'));
  const told = listener.received.find(({ path }) => path === '/hook/witness') ?? assert.fail();
  const { type, data } = eventIn(told);
  assert.deepEqual(
    [type, data['webhook_id'], data['changes'], data['reason']],
    ['webhook.updated', hook.id, ['is_active'], 'failing'],
  );
  await service.createAgent();
  assert.equal((await hook.deliveries()).length, 10);
  assert.equal((await witness.deliveries()).length, 1);
});

test('nine dead in a row deactivate nothing, however long ago the last success was', async () => {
  service.clock.advance({ days: 20 });
  await deliver(9, 500);
  assert.equal(await isActive(), true);
});

test('twelve dead in a row deactivate nothing where a success is less than 24 hours ago', async () => {
  service.clock.advance({ days: 20 });
  await deliver(1, 200);
  await deliver(9, 500);
  service.clock.advance({ hours: 24, milliseconds: -1 });
  await deliver(3, 500);
  assert.equal(await isActive(), true);
  service.clock.advance({ milliseconds: 1 });
  await deliver(1, 500);
  assert.equal(await isActive(), false);
});

test('a webhook that is activated again begins anew', async () => {
  service.clock.advance({ hours: 24 });
  await deliver(10, 500);
  const { body } = await hook.call('PUT', '', { is_active: true });
  assert.deepEqual([body.webhook.is_active, body.webhook.consecutive_fails], [true, 0]);
  await deliver(10, 500);
  assert.equal(await isActive(), true);
});

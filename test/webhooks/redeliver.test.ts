import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { startService, type TestService } from '../harness.ts';
import { createHook, type Hook } from './hook.ts';
import { type Listener, listen } from './listener.ts';

const UNKNOWN = 'delivery_00000000000000000000000000';

let service: TestService;
let listener: Listener;
let hook: Hook;
before(async () => {
  [service, listener] = [await startService(), await listen()];
});
after(async () => {
  await service.stop();
  await listener.close();
});
beforeEach(async () => {
  listener.answer = { status: 200 };
  listener.received.length = 0;
  hook = await createHook(service, { url: listener.url, events: ['agent.created'], max_retries: 2 });
});
afterEach(() => hook.call('DELETE'));

const redeliver = (id: string) => hook.call('POST', `/deliveries/${id}/redeliver`);

test('POST …/redeliver 201: a new delivery of the same event, which is sent with the same bytes', async () => {
  await service.createAgent();
  const first = await hook.newest('delivered');
  const { status, body } = await redeliver(first.id);
  assert.equal(status, 201);
  const { delivery } = body;
  assert.notEqual(delivery.id, first.id);
  assert.deepEqual(
    [delivery.event_id, delivery.event, delivery.status, delivery.attempts],
    [first.event_id, 'agent.created', 'pending', 0],
  );
  const second = await hook.newest('delivered');
  assert.equal(second.id, delivery.id);
  const [before = assert.fail(), after = assert.fail()] = listener.received;
  assert.equal(after.body, before.body);
  assert.equal(after.headers['webhook-id'], before.headers['webhook-id']);
  assert.equal(after.headers['x-webhook-delivery'], delivery.id);
  const { attempt_history: history, ...untouched } = await hook.delivery(first.id);
  assert.deepEqual(untouched, first);
  assert.equal(history.length, 1);
});

test('POST …/redeliver 201: what is dead gets a new delivery with all its attempts, and stays dead', async () => {
  listener.answer = { status: 500 };
  await service.createAgent();
  const dead = await hook.retry();
  assert.equal(dead.status, 'dead');
  await hook.call('PUT', '', { max_retries: 5 });
  listener.answer = { status: 200 };
  assert.equal((await redeliver(dead.id)).body.delivery.max_attempts, 5);
  await hook.newest('delivered');
  assert.equal((await hook.delivery(dead.id)).status, 'dead');
});

test('POST …/redeliver 201: sent to an agent’s event again, each time as one more delivery', async () => {
  await service.createAgent();
  const first = await hook.newest('delivered');
  for (const _ of [1, 2]) {
    await redeliver(first.id);
    await hook.newest('delivered');
  }
  const all = await hook.deliveries();
  assert.equal(all.length, 3);
  assert.equal(new Set(all.map(({ event_id }) => event_id)).size, 1);
});

test('POST …/redeliver 409: a delivery that still waits is not doubled', async () => {
  listener.answer = { status: 500 };
  await service.createAgent();
  const { id } = await hook.newest('retrying');
  assertError(await redeliver(id), 409, 'conflict');
  assert.equal((await hook.deliveries()).length, 1);
});

test('POST …/redeliver 404: an unknown delivery, another webhook’s, and an unknown webhook', async () => {
  await service.createAgent();
  const { id } = await hook.newest('delivered');
  const other = await createHook(service, { url: listener.url, events: ['agent.deleted'] });
  assertError(await redeliver(UNKNOWN), 404, 'not_found');
  assertError(await other.call('POST', `/deliveries/${id}/redeliver`), 404, 'not_found');
  assert.deepEqual(await other.deliveries(), []);
  await other.call('DELETE');
  assertError(await other.call('POST', `/deliveries/${id}/redeliver`), 404, 'not_found');
});

test('POST …/redeliver 401: not without the administrator', async () => {
  const path = `${hook.path}/deliveries/${UNKNOWN}/redeliver`;
  assertError(await service.call('POST', path), 401, 'unauthorized');
});

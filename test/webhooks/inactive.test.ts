import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { startService, type TestService } from '../harness.ts';
import { until } from '../until.ts';
import { createHook, type Hook } from './hook.ts';
import { type Listener, listen } from './listener.ts';

let service: TestService;
let listener: Listener;
beforeEach(async () => {
  [service, listener] = [await startService(), await listen()];
});
afterEach(async () => {
  await service.stop();
  await listener.close();
});

const aHook = (): Promise<Hook> => createHook(service, { url: listener.url, events: ['agent.created'] });
const setActive = (hook: Hook, isActive: boolean) => hook.call('PUT', '', { is_active: isActive });

/** A webhook, inactive, for which one delivery waits after its first attempt. */
async function aHeldHook(): Promise<Hook> {
  const hook = await aHook();
  listener.answer = { status: 500 };
  await service.createAgent();
  await hook.newest('retrying');
  await setActive(hook, false);
  listener.answer = { status: 200 };
  return hook;
}

/** Sends to another webhook, which takes its turn behind what was due before. */
async function passOnce(): Promise<void> {
  const other = await aHook();
  await service.createAgent();
  await other.newest('delivered');
  await other.call('DELETE');
}

test('an inactive webhook gets no new deliveries, and none later for what it missed', async () => {
  const hook = await aHook();
  await setActive(hook, false);
  await service.createAgent();
  assert.deepEqual(await hook.deliveries(), []);
  await setActive(hook, true);
  await service.createAgent();
  await hook.newest('delivered');
  assert.equal((await hook.deliveries()).length, 1);
});

test('what waits when a webhook becomes inactive is held, and goes on when it is active again', async () => {
  const hook = await aHeldHook();
  service.clock.advance({ hours: 1 });
  await passOnce();
  const held = await hook.newest('retrying');
  assert.equal(held.attempts, 1);
  await setActive(hook, true);
  await until('the held delivery', async () => {
    service.clock.advance({ seconds: 1 });
    return (await hook.delivery(held.id)).status === 'delivered';
  });
  assert.equal((await hook.delivery(held.id)).attempts, 2);
});

test('what is held for 72 hours fails as webhook_disabled, what is held for less does not', async () => {
  const longer = await aHeldHook();
  service.clock.advance({ minutes: 1 });
  const shorter = await aHeldHook();
  service.clock.advance({ hours: 72, minutes: -1 });
  const failed = await longer.newest('failed');
  assert.deepEqual(
    [failed.failure_reason, failed.attempts, failed.next_attempt_at],
    ['webhook_disabled', 1, null],
  );
  assert.equal((await shorter.newest('retrying')).attempts, 1);
  await until('the end of the other', async () => {
    service.clock.advance({ minutes: 1 });
    return (await shorter.deliveries())[0]?.status === 'failed';
  });
});

test('deleting a webhook fails what waits as webhook_deleted, and nothing more is sent', async () => {
  const hook = await aHeldHook();
  await setActive(hook, true);
  const { id } = await hook.newest('retrying');
  const sent = listener.received.length;
  assert.equal((await hook.call('DELETE')).status, 204);
  await until('the end of what waited', async () => {
    service.clock.advance({ minutes: 1 });
    return (await stored(id))?.['status'] === 'failed';
  });
  assert.deepEqual(
    { ...(await stored(id)) },
    { status: 'failed', failure_reason: 'webhook_deleted', attempts: 1 },
  );
  assert.equal(listener.received.length, sent);
  assertError(await hook.call('GET', '/deliveries'), 404, 'not_found');
  assertError(await hook.call('GET', `/deliveries/${id}`), 404, 'not_found');
});

/** What no path shows any more. */
async function stored(deliveryId: string) {
  const sql = `select status, failure_reason, attempts from deliveries where id = '${deliveryId}'`;
  return (await service.query(sql))[0];
}

test('a change of max_retries holds for later deliveries; what waits keeps its own', async () => {
  const hook = await aHook();
  listener.answer = { status: 500 };
  await service.createAgent();
  const before = await hook.newest('retrying');
  await hook.call('PUT', '', { max_retries: 1 });
  await service.createAgent();
  const after = await hook.newest('dead');
  assert.deepEqual([before.max_attempts, after.max_attempts, after.attempts], [10, 1, 1]);
  assert.deepEqual((await hook.delivery(before.id)).max_attempts, 10);
  assert.equal((await hook.delivery(before.id)).status, 'retrying');
});

test('a change of the URL holds for what waits', async () => {
  const hook = await aHook();
  listener.answer = { status: 500 };
  await service.createAgent();
  await hook.newest('retrying');
  await hook.call('PUT', '', { url: `${listener.url}/moved` });
  listener.answer = { status: 200 };
  await hook.retry();
  assert.deepEqual(
    listener.received.map(({ path }) => path),
    ['/hook', '/hook/moved'],
  );
});

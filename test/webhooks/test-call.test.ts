import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { assertError, assertInvalid } from '../assert-error.ts';
import { freePort } from '../free-port.ts';
import { startService, type TestService } from '../harness.ts';
import { createHook, type Hook } from './hook.ts';
import { eventIn, type Listener, listen } from './listener.ts';
import { ACCEPTED, verdicts } from './stock-verifiers.ts';

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
  hook = await createHook(service, { url: listener.url, events: ['agent.created'] });
});
afterEach(() => hook.call('DELETE'));

const runTest = (json?: unknown) => hook.call('POST', '/test', json);

test('POST …/test 200: sends one signed webhook.test now and records it as delivered', async () => {
  const { status, body } = await runTest({ event: 'webhook.test' });
  assert.equal(status, 200);
  assert.deepEqual([body.success, body.status_code, 'error' in body], [true, 200, false]);
  assert.ok(Number.isInteger(body.duration_ms) && body.duration_ms >= 0);
  const [request = assert.fail('nothing came')] = listener.received;
  assert.equal(listener.received.length, 1);
  assert.deepEqual(await verdicts(hook.secret, request), ACCEPTED);
  assert.equal(request.headers['x-webhook-delivery'], body.delivery_id);
  const event = eventIn(request);
  assert.deepEqual([event.type, event.data['webhook_id']], ['webhook.test', hook.id]);
  const [delivery, ...others] = await hook.deliveries();
  assert.deepEqual(others, []);
  assert.deepEqual(
    [delivery?.id, delivery?.event, delivery?.event_id, delivery?.status, delivery?.attempts],
    [body.delivery_id, 'webhook.test', event.id, 'delivered', 1],
  );
});

test('POST …/test 200: without a body sends a webhook.test', async () => {
  assert.equal((await runTest()).body.success, true);
  assert.equal((await hook.deliveries())[0]?.event, 'webhook.test');
});

test('POST …/test 200: sends the type that is asked for, to this webhook alone', async () => {
  const other = await createHook(service, { url: `${listener.url}/other` });
  assert.equal((await runTest({ event: 'agent.deleted' })).body.success, true);
  assert.deepEqual(
    listener.received.map(({ path, headers }) => [path, headers['x-webhook-event']]),
    [['/hook', 'agent.deleted']],
  );
  assert.deepEqual(await other.deliveries(), []);
  await other.call('DELETE');
});

for (const status of [302, 404, 500]) {
  test(`POST …/test 200: tells of a receiver that answers ${status}, and does not try again`, async () => {
    listener.answer = { status, headers: { location: `${listener.url}/elsewhere` } };
    const { body } = await runTest({});
    assert.deepEqual([body.success, body.status_code], [false, status]);
    assert.match(body.error, new RegExp(String(status)));
    const [delivery] = await hook.deliveries();
    assert.deepEqual([delivery?.status, delivery?.next_attempt_at], ['dead', null]);
    service.clock.advance({ hours: 1 });
    listener.answer = { status: 200 };
    await service.createAgent();
    await hook.newest('delivered');
    assert.deepEqual(
      listener.received.map(({ headers }) => headers['x-webhook-event']),
      ['webhook.test', 'agent.created'],
    );
  });
}

test('POST …/test 200: status_code is 0 where nobody answers, and the error says why', async () => {
  await hook.call('PUT', '', { url: `http://127.0.0.1:${await freePort()}/` });
  const { body } = await runTest({});
  assert.deepEqual([body.success, body.status_code, body.error], [false, 0, 'connection refused']);
  assert.equal((await hook.deliveries())[0]?.status, 'dead');
});

test('POST …/test 200: an address that is refused is told as that', async () => {
  await hook.call('PUT', '', { url: 'http://169.254.169.254/' });
  const { body } = await runTest({});
  assert.deepEqual([body.success, body.status_code, body.error], [false, 0, 'the address is not allowed']);
  assert.equal((await hook.deliveries())[0]?.failure_reason, 'blocked_target');
});

test('POST …/test 200: reaches an inactive webhook too, which stays inactive', async () => {
  await hook.call('PUT', '', { is_active: false });
  assert.equal((await runTest({})).body.success, true);
  assert.equal(listener.received.length, 1);
  assert.equal((await hook.read()).is_active, false);
});

for (const [what, field, json] of [
  ['an unknown type', 'event', { event: 'agent.exploded' }],
  ['* as the type', 'event', { event: '*' }],
  ['a list of types', 'event', { event: ['webhook.test'] }],
  ['an unknown member', 'url', { url: 'http://127.0.0.1/' }],
] as const) {
  test(`POST …/test 400: ${what} is refused, and nothing is sent`, async () => {
    assertInvalid(await runTest(json), field);
    assert.deepEqual(await hook.deliveries(), []);
    assert.deepEqual(listener.received, []);
  });
}

test('POST …/test 404: an unknown webhook', async () => {
  const path = '/api/webhooks/webhook_00000000000000000000000000/test';
  assertError(await service.call('POST', path, { admin: true, json: {} }), 404, 'not_found');
});

test('POST …/test 401: not without the administrator', async () => {
  assertError(await service.call('POST', `${hook.path}/test`, { json: {} }), 401, 'unauthorized');
  assert.deepEqual(listener.received, []);
});

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { startService, type TestService } from '../harness.ts';
import { createHook, type Hook } from './hook.ts';
import { eventIn, type Listener, listen } from './listener.ts';
import { ACCEPTED, verdicts } from './stock-verifiers.ts';

let service: TestService;
let listener: Listener;
beforeEach(async () => {
  [service, listener] = [await startService(), await listen()];
});
afterEach(async () => {
  await service.stop();
  await listener.close();
});

const aHook = (max_retries = 3): Promise<Hook> =>
  createHook(service, { url: listener.url, events: ['agent.created'], max_retries });
const timestamps = () => listener.received.map(({ headers }) => Number(headers['webhook-timestamp']));

test('a delivery whose first attempt fails is retrying, and delivered once an attempt succeeds', async () => {
  const hook = await aHook();
  listener.answer = { status: 500 };
  await service.createAgent();
  const failed = await hook.newest('retrying');
  assert.deepEqual([failed.attempts, failed.max_attempts, failed.failure_reason], [1, 3, null]);
  const delay = Date.parse(failed.next_attempt_at ?? '') - Date.parse(failed.last_attempt_at ?? '');
  assert.ok(delay >= 2000 && delay <= 2201, `the delay is ${delay}`);
  listener.answer = { status: 204 };
  const delivered = await hook.retry();
  assert.deepEqual(
    [delivered.id, delivered.status, delivered.attempts, delivered.next_attempt_at],
    [failed.id, 'delivered', 2, null],
  );
  assert.equal(listener.received.length, 2);
});

test('a delivery is dead after max_retries attempts, the first included, and nothing more is sent', async () => {
  const hook = await aHook(3);
  listener.answer = { status: 500 };
  await service.createAgent();
  assert.equal((await hook.retry()).status, 'retrying');
  const dead = await hook.retry();
  assert.deepEqual([dead.status, dead.attempts, dead.next_attempt_at], ['dead', 3, null]);
  service.clock.advance({ hours: 2 });
  listener.answer = { status: 200 };
  await service.createAgent();
  await hook.newest('delivered');
  const ofDead = listener.received.filter(({ headers }) => headers['x-webhook-delivery'] === dead.id);
  assert.equal(ofDead.length, 3);
  assert.equal((await hook.delivery(dead.id)).status, 'dead');
});

test('max_retries 1 means one attempt', async () => {
  const hook = await aHook(1);
  listener.answer = { status: 500 };
  await service.createAgent();
  assert.equal((await hook.newest('dead')).attempts, 1);
});

test('ten attempts follow each other after 2, 4, 8, … seconds at least, and before the next of these', async () => {
  const hook = await aHook(10);
  listener.answer = { status: 503 };
  await service.createAgent();
  let delivery = await hook.newest('retrying');
  const delays: number[] = [];
  while (delivery.status === 'retrying') {
    delays.push(Date.parse(delivery.next_attempt_at ?? '') - Date.parse(delivery.last_attempt_at ?? ''));
    delivery = await hook.retry();
  }
  assert.deepEqual([delivery.status, delivery.attempts], ['dead', 10]);
  const least = [2, 4, 8, 16, 32, 64, 128, 256, 512].map((seconds) => seconds * 1000);
  assert.equal(delays.length, least.length);
  for (const [index, delay] of delays.entries()) {
    const from = least[index] ?? 0;
    assert.ok(delay >= from && delay < from * 2, `${delay} after attempt ${index + 1}`);
  }
  const times = timestamps();
  for (const [index, from] of least.entries()) {
    // Whole seconds are sent, so one may be lost to rounding.
    assert.ok((times[index + 1] ?? 0) - (times[index] ?? 0) >= from / 1000 - 1);
  }
});

test('each attempt brings the same bytes and event id, with a fresh timestamp and signature', async () => {
  const hook = await aHook();
  listener.answer = { status: 500 };
  await service.createAgent({ name: 'Zoë' });
  await hook.retry();
  await hook.retry();
  const [first = assert.fail(), ...later] = listener.received;
  assert.equal(later.length, 2);
  for (const request of [first, ...later]) {
    assert.equal(request.body, first.body);
    assert.equal(request.headers['webhook-id'], eventIn(first).id);
    assert.equal(request.headers['x-webhook-delivery'], first.headers['x-webhook-delivery']);
    assert.deepEqual(await verdicts(hook.secret, request), ACCEPTED);
  }
  assert.equal(new Set(timestamps()).size, 3);
  assert.equal(new Set(listener.received.map(({ headers }) => headers['webhook-signature'])).size, 3);
});

for (const [what, header, seconds] of [
  ['seconds', () => '120', 120],
  ['a date', (now: number) => new Date(now + 120_000).toUTCString(), 120],
  ['a year', () => '31536000', 3600],
] as const) {
  test(`Retry-After as ${what} is waited for, an hour at most`, async () => {
    const hook = await aHook();
    listener.answer = { status: 429, headers: { 'retry-after': header(service.clock.now()) } };
    await service.createAgent();
    const { next_attempt_at: next } = await hook.newest('retrying');
    const wait = (Date.parse(next ?? '') - service.clock.now()) / 1000;
    // A date has whole seconds.
    assert.ok(wait > seconds - 1 && wait <= seconds, `the wait is ${wait} s`);
  });
}

test('410 fails the delivery as gone and deactivates the webhook, which other webhooks hear of', async () => {
  const hook = await aHook();
  const witness = await createHook(service, { url: `${listener.url}/witness`, events: ['webhook.updated'] });
  listener.answer = { status: 410 };
  await service.createAgent();
  const failed = await hook.newest('failed');
  assert.deepEqual([failed.attempts, failed.failure_reason, failed.next_attempt_at], [1, 'gone', null]);
  assert.equal((await hook.read()).is_active, false);
  assert.equal(await hook.fails(), 0);
  const [, told = assert.fail()] = await listener.first(2);
  assert.equal(told.path, '/hook/witness');
  const { type, data } = eventIn(told);
  assert.deepEqual(
    { type, ...data },
    {
      type: 'webhook.updated',
      webhook_id: hook.id,
      webhook_name: 'hook',
      changes: ['is_active'],
      reason: 'gone',
    },
  );
  await service.createAgent();
  assert.equal((await hook.deliveries()).length, 1);
  assert.equal((await witness.deliveries()).length, 1);
});

test('a refused address fails the delivery as blocked_target without a request', async () => {
  const url = 'http://169.254.169.254/latest/meta-data';
  const hook = await createHook(service, { url, events: ['agent.created'] });
  await service.createAgent();
  const failed = await hook.newest('failed');
  assert.deepEqual([failed.attempts, failed.failure_reason], [1, 'blocked_target']);
  assert.equal((await hook.read()).is_active, true);
});

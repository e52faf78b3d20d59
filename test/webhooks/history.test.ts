import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { freePort } from '../free-port.ts';
import { startService, type TestService } from '../harness.ts';
import { createHook, type DeliveryBody, type Hook } from './hook.ts';
import { type Listener, listen } from './listener.ts';

const UNKNOWN = 'delivery_00000000000000000000000000';
const LARGEST_KEPT = 16 * 1024;

let service: TestService;
let listener: Listener;
let hook: Hook;
const byStatus: Record<string, DeliveryBody> = {};
before(async () => {
  [service, listener] = [await startService(), await listen()];
  const events = ['agent.created', 'agent.updated'];
  hook = await createHook(service, { url: listener.url, events, max_retries: 2 });
  const agent = await service.createAgent();
  byStatus['delivered'] = await hook.newest('delivered');
  listener.answer = { status: 502, body: `<html>${'x'.repeat(2 * LARGEST_KEPT)}` };
  await service.call('PUT', `/api/agents/${agent.id}`, { admin: true, json: { name: 'n' } });
  await hook.newest('retrying');
  listener.answer = { status: 500, body: 'still down' };
  byStatus['dead'] = await hook.retry();
  await service.createAgent();
  byStatus['retrying'] = await hook.newest('retrying');
});
after(async () => {
  await service.stop();
  await listener.close();
});

test('GET …/deliveries/:delivery_id 200: the delivery as the list shows it, with its attempts in order', async () => {
  const dead = byStatus['dead'] ?? assert.fail();
  const { attempt_history: history, ...delivery } = await hook.delivery(dead.id);
  assert.deepEqual(delivery, dead);
  const [first, second] = history;
  assert.deepEqual([history.length, first.attempt, second.attempt], [2, 1, 2]);
  assert.deepEqual([first.status_code, first.error], [502, null]);
  assert.deepEqual([second.status_code, second.error, second.response_start], [500, null, 'still down']);
  assert.equal(first.response_start, `<html>${'x'.repeat(LARGEST_KEPT - 6)}`);
  assert.equal(second.started_at, dead.last_attempt_at);
  assert.ok(Date.parse(second.started_at) - Date.parse(first.started_at) >= 2000);
  for (const { duration_ms: duration } of history) assert.ok(Number.isInteger(duration) && duration >= 0);
});

test('GET …/deliveries/:delivery_id 200: says why nobody answered', async () => {
  const url = `http://127.0.0.1:${await freePort()}/`;
  const deaf = await createHook(service, { url, events: ['token.validation_failed'] });
  await service.introspect('nonsense');
  const [attempt] = (await deaf.delivery((await deaf.newest('retrying')).id)).attempt_history;
  assert.deepEqual(
    [attempt.status_code, attempt.error, attempt.response_start],
    [null, 'connection refused', null],
  );
  await deaf.call('DELETE');
});

test('GET …/deliveries/:delivery_id 404: an unknown one, and another webhook’s', async () => {
  const other = await createHook(service, { url: listener.url, events: ['webhook.test'] });
  assertError(await hook.call('GET', `/deliveries/${UNKNOWN}`), 404, 'not_found');
  const { id } = byStatus['dead'] ?? assert.fail();
  assertError(await other.call('GET', `/deliveries/${id}`), 404, 'not_found');
  await other.call('DELETE');
});

for (const status of ['delivered', 'dead', 'retrying']) {
  test(`GET …/deliveries?status=${status} 200: holds those that are ${status}, and no others`, async () => {
    const found = await hook.deliveries(`?status=${status}`);
    assert.ok(found.some(({ id }) => id === byStatus[status]?.id));
    const all = await hook.deliveries();
    assert.deepEqual(
      found,
      all.filter((delivery) => delivery.status === status),
    );
  });
}

test('GET …/deliveries 200: filters by status and event together', async () => {
  const dead = byStatus['dead'] ?? assert.fail();
  assert.deepEqual(await hook.deliveries('?status=dead&event=agent.updated'), [dead]);
  assert.deepEqual(await hook.deliveries('?status=dead&event=agent.created'), []);
  assert.deepEqual(await hook.deliveries('?event=agent.updated'), [dead]);
});

test('no read shows a secret, and the log holds none', async () => {
  const { body } = await hook.call('POST', '/rotate-secret');
  await hook.call('POST', '/test', {});
  const reads = await Promise.all([
    ...['', '/deliveries', `/deliveries/${byStatus['dead']?.id}`].map((path) => hook.call('GET', path)),
    hook.call('PUT', '', { name: 'renamed' }),
    service.call('GET', '/api/webhooks', { admin: true }),
  ]);
  const seen = JSON.stringify(reads.map((answer) => answer.body)) + service.logLines.join('');
  for (const secret of [hook.secret, body.secret]) assert.equal(seen.includes(secret), false);
  assert.doesNotMatch(seen, /whsec_|sealed|previous_secret/);
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { send, startService, type TestService } from '../harness.ts';
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

/** The value of one line; 0 where it is not there yet. */
async function metric(line: string): Promise<number> {
  const { body } = await send(service.url, 'GET', '/metrics');
  const found = String(body)
    .split('\n')
    .find((each) => each.startsWith(`${line} `));
  return Number(found?.slice(line.length) ?? 0);
}
const attempts = (outcome: string) =>
  metric(`signet_webhook_attempt_duration_seconds_count{outcome="${outcome}"}`);

test('GET /metrics: attempts are counted by what they left their delivery as', async () => {
  const hook = await createHook(service, { url: listener.url, events: ['agent.created'], max_retries: 2 });
  await service.createAgent();
  await hook.newest('delivered');
  listener.answer = { status: 500 };
  await service.createAgent();
  await hook.retry();
  listener.answer = { status: 410 };
  await service.createAgent();
  await hook.newest('failed');
  const outcomes = ['delivered', 'retrying', 'dead', 'failed'];
  assert.deepEqual(await Promise.all(outcomes.map(attempts)), [1, 1, 1, 1]);
  await hook.call('DELETE');
});

test('GET /metrics: shows what waits and for how long the oldest has been due', async () => {
  const waiting = () => metric('signet_webhook_deliveries_waiting');
  const dueSeconds = () => metric('signet_webhook_oldest_due_seconds');
  assert.deepEqual([await waiting(), await dueSeconds()], [0, 0]);
  const hook = await createHook(service, { url: listener.url, events: ['agent.created'] });
  listener.answer = { status: 500 };
  await service.createAgent();
  const { next_attempt_at: due } = await hook.newest('retrying');
  await hook.call('PUT', '', { is_active: false });
  service.clock.advance({ hours: 1 });
  await until('a count', async () => (await waiting()) === 1);
  assert.equal(await dueSeconds(), (service.clock.now() - Date.parse(due ?? '')) / 1000);
  listener.answer = { status: 200 };
  await hook.call('PUT', '', { is_active: true });
  await hook.newest('delivered');
  await until('another count', async () => {
    service.clock.advance({ seconds: 5 });
    return (await waiting()) === 0;
  });
  assert.equal(await dueSeconds(), 0);
});

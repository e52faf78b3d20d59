import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Receiver, startReceiver } from '../docs/webhook-receiver.ts';
import { startService, type TestService } from '../harness.ts';
import { until } from '../until.ts';
import { allEvents } from './subscriber.ts';

let service: TestService;
let receiver: Receiver;
before(async () => {
  receiver = await startReceiver();
  service = await startService();
});
after(async () => {
  await service.stop();
  await receiver.close();
});

test('POST …/redeliver 409: an event that is no longer kept is not sent again', async () => {
  const json = { name: 'forgetful', url: receiver.url };
  const { body: created } = await asAdmin('POST', '/api/webhooks', json);
  const webhook = `/api/webhooks/${created.webhook.id}`;
  const { body: tested } = await asAdmin('POST', `${webhook}/test`);
  service.clock.advance({ days: 29 });
  const { body: again } = await asAdmin('POST', `${webhook}/deliveries/${tested.delivery_id}/redeliver`);
  await until('the delivery', async () => (await deliveriesOf(webhook))[0]?.status === 'delivered');
  service.clock.advance({ days: 2 });
  await until('pruning', async () => (await allEvents(service)).length === 0);
  const { status, body } = await asAdmin('POST', `${webhook}/deliveries/${again.delivery.id}/redeliver`);
  assert.equal(status, 409);
  assert.match(body.error_description, /no longer kept/);
  assert.deepEqual(
    (await deliveriesOf(webhook)).map(({ id }) => id),
    [again.delivery.id],
  );
});

async function deliveriesOf(webhook: string): Promise<{ id: string; status: string }[]> {
  return (await asAdmin('GET', `${webhook}/deliveries`)).body.deliveries;
}

function asAdmin(method: string, path: string, json?: unknown) {
  return service.call(method, path, { admin: true, ...(json !== undefined && { json }) });
}

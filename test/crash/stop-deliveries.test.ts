import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { adminEnv, childFolder, startChild } from '../child.ts';
import { freePort } from '../free-port.ts';
import { send } from '../harness.ts';
import { until } from '../until.ts';
import { type Receiver, startReceiver } from '../webhooks/faults/receiver.ts';

const EVENTS = 10;
const UNDER_WAY = 4;

const folder = childFolder();
let receiver: Receiver;
after(async () => {
  await folder.remove();
  await receiver.close();
});

const isRefused = async (url: string): Promise<boolean> =>
  fetch(`${url}/livez`).then(
    () => false,
    () => true,
  );

const deliveriesSent = (): Set<unknown> =>
  new Set(receiver.seen.map(({ headers }) => headers['x-webhook-delivery']));

test('SIGTERM: requests under way finish, the rest is sent by the next start, and nothing twice', async () => {
  const held: ServerResponse[] = [];
  let isHolding = true;
  receiver = await startReceiver((response) => {
    if (isHolding) held.push(response);
    else response.writeHead(200).end();
  });
  const port = await freePort();
  const stopped = await startChild({ folder, port, env: adminEnv });
  const hook = { name: 'stop', url: receiver.url, events: ['agent.created'], max_retries: 1 };
  const created = await send(stopped.url, 'POST', '/api/webhooks', { admin: true, json: hook });
  for (let made = 0; made < EVENTS; made++) {
    await send(stopped.url, 'POST', '/api/agents', { admin: true, json: { name: 'stop' } });
  }
  await until('requests under way', () => held.length === UNDER_WAY);

  stopped.process.kill('SIGTERM');
  await until('the stop', () => isRefused(stopped.url));
  for (const response of held) response.writeHead(200).end();
  assert.equal((await stopped.exited).code, 0);
  assert.equal(receiver.seen.length, UNDER_WAY);

  isHolding = false;
  const { url, kill } = await startChild({ folder, port, env: adminEnv });
  const path = `/api/webhooks/${created.body.webhook.id}/deliveries`;
  const deliveries = await until('every delivery', async () => {
    const { body } = await send(url, 'GET', path, { admin: true });
    const isDone = body.deliveries.every(({ status }: { status: string }) => status === 'delivered');
    return isDone ? body.deliveries : null;
  });
  assert.equal(deliveries.length, EVENTS);
  assert.deepEqual([receiver.seen.length, deliveriesSent().size], [EVENTS, EVENTS]);
  assert.equal((await kill('SIGTERM')).code, 0);
});

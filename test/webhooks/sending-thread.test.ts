import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { SenderOptions } from '../../src/webhooks/sender.ts';
import { SendingThread } from '../../src/webhooks/sending-thread.ts';
import type { WebhookRequest } from '../../src/webhooks/webhook-request.ts';
import { until } from '../until.ts';
import { answer, type Behaviour, startReceiver } from './faults/receiver.ts';

const options: SenderOptions = { policy: 'any', connectionsPerReceiver: 4 };

function threadOf(context: TestContext, given = options): SendingThread {
  const thread = new SendingThread(given);
  context.after(() => thread.close());
  return thread;
}

async function receiverOf(context: TestContext, behaviour: Behaviour) {
  const receiver = await startReceiver(behaviour);
  context.after(() => receiver.close());
  return receiver;
}

const requestTo = (url: string, deliveryId = 'delivery_1'): WebhookRequest => ({
  url,
  eventType: 'agent.created',
  deliveryId,
  signable: { eventId: 'evt_1', timestamp: 0, body: '{}' },
  secrets: { current: 'whsec_AAAA', previous: null },
});

test('each of many requests at once has its own answer', async (t) => {
  const receiver = await receiverOf(t, (response, _, { headers }) => {
    const text = String(headers['x-webhook-delivery']);
    setTimeout(() => response.end(text), (Number(text) * 7) % 20);
  });
  const thread = threadOf(t);
  const numbers = Array.from({ length: 60 }, (_, index) => String(index));
  const exchanges = await Promise.all(numbers.map((number) => thread.send(requestTo(receiver.url, number))));
  assert.deepEqual(
    exchanges.map(({ responseStart }) => responseStart),
    numbers,
  );
});

test('names are looked up', async (t) => {
  const receiver = await receiverOf(t, answer(204));
  const thread = threadOf(t);
  const { port } = new URL(receiver.url);
  assert.equal((await thread.send(requestTo(`http://localhost:${port}/`))).statusCode, 204);
  assert.equal((await thread.send(requestTo('http://receiver.invalid/'))).error, 'the name does not resolve');
});

test('what is under way when it closes ends without an answer, and the next request is sent again', async (t) => {
  const receiver = await receiverOf(t, () => {});
  const thread = threadOf(t);
  const cut = thread.send(requestTo(receiver.url));
  await until('the request', () => receiver.seen.length === 1);
  await Promise.all([thread.close(), thread.close()]);
  const { outcome, error } = await cut;
  assert.deepEqual([outcome.kind, error], ['unanswered', 'the service stopped']);
  const other = await receiverOf(t, answer(204));
  assert.equal((await thread.send(requestTo(other.url))).statusCode, 204);
});

test('a thread that fails fails what it was to send, each time, and nothing waits for ever', async (t) => {
  // It has nothing to be made of.
  const thread = threadOf(t, null as never);
  for (let time = 0; time < 2; time++) {
    const sent = [thread.send(requestTo('http://127.0.0.1/')), thread.send(requestTo('http://127.0.0.1/'))];
    for (const one of await Promise.allSettled(sent)) assert.equal(one.status, 'rejected');
  }
});

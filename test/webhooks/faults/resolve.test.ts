import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { LookupAddress } from 'node:dns';
import { isIPv6, type Socket } from 'node:net';
import { after, before, type TestContext, test } from 'node:test';
import { createSender, type ResolveName, type Sender } from '../../../src/webhooks/sender.ts';
import type { TargetPolicy } from '../../../src/webhooks/target.ts';
import { answer, type Receiver, startReceiver } from './receiver.ts';

/** Public by its form, and given to nobody: whatever is sent there arrives nowhere. */
const PUBLIC = '3ffe::1';

let receiver: Receiver;
/** The addresses that sockets of this process were pointed at. */
const attempted: string[] = [];
const watch = (message: unknown): void => {
  const { socket } = message as { socket: Socket };
  socket.on('connectionAttempt', (ip) => attempted.push(ip));
};
before(async () => {
  subscribe('net.client.socket', watch);
  receiver = await startReceiver(answer(200, { connection: 'close' }));
});
after(async () => {
  unsubscribe('net.client.socket', watch);
  await receiver.close();
});

interface Scene {
  sender: Sender;
  lookups: string[];
}

/** Each lookup of the name has the next of the answers. */
function senderOf(context: TestContext, policy: TargetPolicy, ...answers: string[][]): Scene {
  const lookups: string[] = [];
  const resolve = (
    name: string,
    _options: unknown,
    callback: (error: null, addresses: LookupAddress[]) => void,
  ) => {
    const addresses = answers[lookups.length] ?? [];
    lookups.push(name);
    callback(
      null,
      addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 })),
    );
  };
  const sender = createSender({ policy, connectionsPerReceiver: 4 }, resolve as ResolveName);
  context.after(() => sender.close());
  attempted.length = 0;
  receiver.seen.length = 0;
  receiver.connections = 0;
  return { sender, lookups };
}

const send = ({ sender }: Scene) =>
  sender.send({
    url: `http://receiver.example:${receiver.port}/`,
    eventType: 'agent.created',
    deliveryId: 'delivery_1',
    signable: { eventId: 'evt_1', timestamp: 0, body: '{}' },
    secrets: { current: 'whsec_AAAA', previous: null },
  });

test('the address that was checked is the one that is connected to', async (t) => {
  const scene = senderOf(t, 'any', ['127.0.0.1'], ['169.254.169.254']);
  assert.equal((await send(scene)).statusCode, 200);
  assert.equal(receiver.seen[0]?.headers.host, `receiver.example:${receiver.port}`);
  assert.deepEqual([scene.lookups, attempted], [['receiver.example'], ['127.0.0.1']]);
});

test('a name that has become a metadata address is refused on the next connection', async (t) => {
  const scene = senderOf(t, 'any', ['127.0.0.1'], ['169.254.169.254']);
  await send(scene);
  await receiver.seen[0]?.closed;
  const { outcome, error } = await send(scene);
  assert.deepEqual([outcome.kind, error], ['blocked', 'the address is not allowed']);
  assert.deepEqual([scene.lookups.length, attempted], [2, ['127.0.0.1']]);
});

test('a name that turns from public to private after the check is connected to at the public address', async (t) => {
  const scene = senderOf(t, 'public', [PUBLIC], ['127.0.0.1']);
  assert.equal((await send(scene)).outcome.kind, 'unanswered');
  assert.deepEqual([scene.lookups.length, attempted], [1, [PUBLIC]]);
  assert.equal((await send(scene)).outcome.kind, 'blocked');
  assert.deepEqual([scene.lookups.length, attempted, receiver.connections], [2, [PUBLIC], 0]);
});

test('of a name with public and private addresses the public ones alone are connected to', async (t) => {
  const scene = senderOf(t, 'public', ['127.0.0.1', PUBLIC, '10.0.0.1']);
  assert.equal((await send(scene)).outcome.kind, 'unanswered');
  assert.deepEqual([attempted, receiver.connections], [[PUBLIC], 0]);
});

for (const address of ['127.0.0.1', '10.0.0.1', '192.168.1.1', 'fd00::1', '::1', '::ffff:127.0.0.1']) {
  test(`a name that resolves to ${address} is not public`, async (t) => {
    const scene = senderOf(t, 'public', [address]);
    assert.equal((await send(scene)).outcome.kind, 'blocked');
    assert.deepEqual([scene.lookups.length, attempted, receiver.connections], [1, [], 0]);
  });
}

test('a name that resolves to no address at all is refused', async (t) => {
  const scene = senderOf(t, 'any', []);
  assert.equal((await send(scene)).outcome.kind, 'blocked');
  assert.deepEqual(attempted, []);
});

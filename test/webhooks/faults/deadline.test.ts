import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { startService, type TestService } from '../../harness.ts';
import { dribble, hang, type Receiver, startReceiver } from './receiver.ts';
import {
  afterAttempts,
  assertNothingSecret,
  assertSameEventSignedAfresh,
  createHook,
  type Hook,
  onlyDelivery,
} from './scene.ts';

let service: TestService;
let silent: Receiver;
let slow: Receiver;
before(async () => {
  service = await startService();
  silent = await startReceiver(hang);
  slow = await startReceiver(dribble);
});
after(async () => {
  await service.stop();
  await silent.close();
  await slow.close();
});

/** Takes connections and never says the first word of TLS. */
async function startMute(): Promise<{ url: string; close(): void }> {
  const mute = createServer((socket) => {
    socket.on('error', () => {});
    mute.once('close', () => socket.destroy());
  });
  mute.listen(0, '127.0.0.1');
  await once(mute, 'listening');
  const { port } = mute.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}/`, close: () => mute.close() };
}

async function assertCutOffTwice(hook: Hook, error: string): Promise<void> {
  const delivery = await onlyDelivery(service, hook);
  assert.deepEqual([delivery.status, delivery.attempts], ['dead', 2]);
  const outcomes = delivery.attempt_history.map((attempt) => [attempt.status_code, attempt.error]);
  assert.deepEqual(outcomes, [
    [null, error],
    [null, error],
  ]);
  assertNothingSecret(service, hook, { delivery, seen: [...silent.seen, ...slow.seen] });
}

// The waiting is real, so all that wait do so together.
test('receivers that are silent, dribble or never finish the handshake are cut off and tried again', async (t) => {
  const mute = await startMute();
  t.after(() => mute.close());
  const toSilent = await createHook(service, silent.url);
  const toSlow = await createHook(service, slow.url);
  const toMute = await createHook(service, mute.url);
  const hooks = [toSilent, toSlow, toMute];
  await service.createAgent();

  const first = await Promise.all(hooks.map((hook) => afterAttempts(service, hook, 1)));
  for (const { status, attempts } of first) assert.deepEqual([status, attempts], ['retrying', 1]);
  const dueAt = first.map(({ next_attempt_at }) => Date.parse(String(next_attempt_at)));
  service.clock.advanceTo(Math.max(...dueAt));
  await Promise.all(hooks.map((hook) => afterAttempts(service, hook, 2)));

  await assertCutOffTwice(toSilent, 'no whole answer within 10 seconds');
  await assertCutOffTwice(toSlow, 'no whole answer within 10 seconds');
  await assertCutOffTwice(toMute, 'no connection within 3 seconds');
  assertSameEventSignedAfresh(silent.seen, toSilent);
  assertSameEventSignedAfresh(slow.seen, toSlow);
  assert.deepEqual([silent.seen.length, slow.seen.length], [2, 2]);
  await Promise.all([...silent.seen, ...slow.seen].map(({ closed }) => closed));
});

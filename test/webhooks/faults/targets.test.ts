import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startService, type TestService } from '../../harness.ts';
import { answer, type Receiver, startReceiver } from './receiver.ts';
import { afterAttempts, assertNothingSecret, createHook, type Hook } from './scene.ts';

const LOOPBACK_THAT_CONNECTS = ['127.0.0.1', '2130706433', '0x7f.1', '0177.0.0.1', '127.1', 'localhost'];
const LOOPBACK = [
  ...LOOPBACK_THAT_CONNECTS,
  '0.0.0.0',
  '[::]',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[2002:7f00:1::]',
];
const PRIVATE = ['10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '[fd00::1]', '[::ffff:10.0.0.1]'];
const METADATA = [
  '169.254.169.254',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '[::ffff:169.254.169.254]',
  '[::ffff:0:169.254.169.254]',
  '[::169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[2002:a9fe:a9fe::]',
  '[fe80::1]',
  '[fd00:ec2::254]',
  '100.100.100.200',
  '[::ffff:100.100.100.200]',
];

interface Scene {
  service: TestService;
  receiver: Receiver;
  hooks: Map<string, Hook>;
}

/** One event, on its way to the receiver's port at each of the hosts. */
async function arrange(policy: string, hosts: readonly string[]): Promise<Scene> {
  const service = await startService({ env: { SIGNET_WEBHOOK_TARGETS: policy } });
  const receiver = await startReceiver(answer(200));
  const hooks = new Map<string, Hook>();
  for (const host of hosts) hooks.set(host, await createHook(service, `http://${host}:${receiver.port}/`));
  await service.createAgent();
  return { service, receiver, hooks };
}

async function dismantle({ service, receiver }: Scene): Promise<void> {
  await service.stop();
  await receiver.close();
}

async function assertBlocked({ service, hooks }: Scene, host: string): Promise<void> {
  const hook = hooks.get(host) as Hook;
  const delivery = await afterAttempts(service, hook, 1);
  const { status, failure_reason, attempts, next_attempt_at, attempt_history } = delivery;
  assert.deepEqual(
    [status, failure_reason, attempts, next_attempt_at],
    ['failed', 'blocked_target', 1, null],
  );
  assert.equal(attempt_history[0]?.error, 'the address is not allowed');
  assertNothingSecret(service, hook, { delivery, seen: [] });
}

describe('SIGNET_WEBHOOK_TARGETS=public', () => {
  const refused = [...LOOPBACK, ...PRIVATE, ...METADATA];
  let scene: Scene;
  before(async () => {
    scene = await arrange('public', refused);
  });
  after(() => dismantle(scene));

  for (const host of refused) test(`${host} is refused`, () => assertBlocked(scene, host));

  test('nothing was connected to', () => assert.equal(scene.receiver.connections, 0));
});

describe('SIGNET_WEBHOOK_TARGETS=any', () => {
  let scene: Scene;
  before(async () => {
    scene = await arrange('any', [...METADATA, ...LOOPBACK_THAT_CONNECTS]);
  });
  after(() => dismantle(scene));

  for (const host of METADATA) test(`${host} is refused`, () => assertBlocked(scene, host));

  for (const host of LOOPBACK_THAT_CONNECTS) {
    test(`${host} is delivered to`, async () => {
      const hook = scene.hooks.get(host) as Hook;
      assert.equal((await afterAttempts(scene.service, hook, 1)).status, 'delivered');
    });
  }

  test('the receiver was sent what it was allowed, and nothing else', () => {
    assert.equal(scene.receiver.seen.length, LOOPBACK_THAT_CONNECTS.length);
  });
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { certificatePath } from '../../certificates.ts';
import { adminEnv, childFolder, startChild } from '../../child.ts';
import { type CallOptions, send } from '../../harness.ts';
import { until } from '../../until.ts';
import { answer, type Certificate, type Receiver, startTlsReceiver } from './receiver.ts';
import { assertNothingSecret, createHook, type Hook, onlyDelivery } from './scene.ts';

const WRONG = [
  ['expired', 'the certificate has expired'],
  ['wrong-host', 'the certificate is for another name'],
  ['self-signed', 'the certificate is self-signed'],
  ['unknown-authority', 'the certificate is of an unknown authority'],
] as const;

interface Scene {
  receiver: Receiver;
  hook: Hook;
}

const folder = childFolder();
const scenes = new Map<Certificate, Scene>();
const service = {
  url: '',
  logLines: [] as string[],
  call: (method: string, path: string, options?: CallOptions) => send(service.url, method, path, options),
};

/** One event for a receiver of each kind, and what came of it once all attempts are over. */
before(async () => {
  // Trusted, so that a certificate of this authority fails for its own reason alone.
  const env = {
    ...adminEnv,
    SIGNET_LOG_LEVEL: 'debug',
    NODE_EXTRA_CA_CERTS: certificatePath('authority.crt'),
  };
  const child = await startChild({ folder, env });
  service.url = child.url;
  for (const certificate of ['good', ...WRONG.map(([wrong]) => wrong)] as const) {
    const receiver = await startTlsReceiver(certificate, answer(204));
    scenes.set(certificate, { receiver, hook: await createHook(service, receiver.url) });
  }
  const created = await service.call('POST', '/api/agents', {
    admin: true,
    json: { name: 'news', scopes: ['read'] },
  });
  assert.equal(created.status, 201);
  await until('the end of all deliveries', async () => {
    const deliveries = await Promise.all([...scenes.values()].map(({ hook }) => onlyDelivery(service, hook)));
    return deliveries.every(({ next_attempt_at }) => next_attempt_at === null);
  });
  const { stdout, stderr } = child.output();
  service.logLines.push(stdout, stderr);
});
after(async () => {
  await folder.remove();
  for (const { receiver } of scenes.values()) await receiver.close();
});

function sceneOf(certificate: Certificate): Scene {
  const scene = scenes.get(certificate);
  assert.ok(scene !== undefined);
  return scene;
}

for (const [certificate, error] of WRONG) {
  test(`a receiver with a certificate that is ${certificate} is told nothing, each time`, async () => {
    const { hook, receiver } = sceneOf(certificate);
    const delivery = await onlyDelivery(service, hook);
    assert.deepEqual([delivery.status, delivery.attempts], ['dead', 2]);
    assert.deepEqual(
      delivery.attempt_history.map((attempt) => attempt.error),
      [error, error],
    );
    assert.equal(receiver.seen.length, 0);
    assert.ok(receiver.connections >= 2);
    assertNothingSecret(service, hook, { delivery, seen: receiver.seen });
  });
}

test('a receiver with a good certificate is delivered to', async () => {
  const { hook, receiver } = sceneOf('good');
  const { status, attempts } = await onlyDelivery(service, hook);
  assert.deepEqual([status, attempts], ['delivered', 1]);
  assert.equal(receiver.seen.length, 1);
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { startService, type TestService } from '../../harness.ts';
import { answer, certificateText, startTlsReceiver } from './receiver.ts';
import { assertNothingSecret, nextAttempt, sendOne } from './scene.ts';

let service: TestService;
before(async () => {
  // Trusted, so that a certificate of this authority fails for its own reason alone.
  setDefaultCACertificates([...getCACertificates('default'), certificateText('authority.crt')]);
  service = await startService();
});
after(() => service.stop());

for (const [certificate, error] of [
  ['expired', 'the certificate has expired'],
  ['wrong-host', 'the certificate is for another name'],
  ['self-signed', 'the certificate is self-signed'],
  ['unknown-authority', 'the certificate is of an unknown authority'],
] as const) {
  test(`a receiver with a certificate that is ${certificate} is told nothing, each time`, async (t) => {
    const tls = await startTlsReceiver(certificate, answer(200));
    const { hook, receiver, first } = await sendOne(t, service, tls);
    assert.deepEqual([first.status, first.attempt_history[0]?.error], ['retrying', error]);
    const last = await nextAttempt(service, hook);
    assert.deepEqual([last.status, last.attempts, last.attempt_history[1]?.error], ['dead', 2, error]);
    assert.equal(receiver.seen.length, 0);
    assert.ok(receiver.connections >= 2);
    assertNothingSecret(service, hook, { delivery: last, seen: receiver.seen });
  });
}

test('a receiver with a good certificate is delivered to', async (t) => {
  const { first, receiver } = await sendOne(t, service, await startTlsReceiver('good', answer(204)));
  assert.deepEqual([first.status, first.attempts], ['delivered', 1]);
  assert.equal(receiver.seen.length, 1);
});

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { startService, type TestService } from '../harness.ts';
import { createHook, type Hook } from './hook.ts';
import { eventIn, type Listener, listen, type Received } from './listener.ts';
import { ACCEPTED, REFUSED, verdicts } from './stock-verifiers.ts';

const DAY_MILLISECONDS = 86_400_000;

let service: TestService;
let listener: Listener;
let hook: Hook;
beforeEach(async () => {
  [service, listener] = [await startService(), await listen()];
  hook = await createHook(service, { url: listener.url, events: ['agent.created'] });
});
afterEach(async () => {
  await service.stop();
  await listener.close();
});

async function rotate(): Promise<string> {
  const { status, body } = await hook.call('POST', '/rotate-secret');
  assert.equal(status, 200);
  return body.secret;
}

async function nextRequest(): Promise<Received> {
  listener.received.length = 0;
  await service.createAgent();
  await hook.newest('delivered');
  return listener.received[0] ?? assert.fail('nothing came');
}

/** As a receiver sees it that checks the old secret's hexadecimal signature where it stands. */
const asBefore = ({ headers, body }: Received) => ({
  headers: { ...headers, 'x-webhook-signature-256': headers['x-webhook-previous-signature-256'] },
  body,
});
const signatures = ({ headers }: Received) => String(headers['webhook-signature']).split(' ').length;

test('POST …/rotate-secret 200: hands out a new secret once, with the time at which the old one ends', async () => {
  const { body } = await hook.call('POST', '/rotate-secret');
  assert.match(body.secret, /^whsec_[A-Za-z0-9+/]{44}$/);
  assert.notEqual(body.secret, hook.secret);
  assert.equal(Date.parse(body.previous_secret_expires_at), service.clock.now() + DAY_MILLISECONDS);
  assert.doesNotMatch(JSON.stringify(await hook.read()), /whsec_/);
});

test('after a rotation both secrets sign for 24 hours, and then the new one alone', async () => {
  const secret = await rotate();
  service.clock.advance({ hours: 24, milliseconds: -1 });
  const overlapping = await nextRequest();
  assert.deepEqual(await verdicts(secret, overlapping), ACCEPTED);
  assert.deepEqual(await verdicts(hook.secret, asBefore(overlapping)), ACCEPTED);
  assert.equal(signatures(overlapping), 2);
  service.clock.advance({ milliseconds: 1 });
  const later = await nextRequest();
  assert.deepEqual(await verdicts(secret, later), ACCEPTED);
  assert.deepEqual(await verdicts(hook.secret, later), REFUSED);
  assert.equal(signatures(later), 1);
  assert.equal('x-webhook-previous-signature-256' in later.headers, false);
});

test('a second rotation ends the first secret at once', async () => {
  const second = await rotate();
  const third = await rotate();
  const request = await nextRequest();
  assert.deepEqual(await verdicts(third, request), ACCEPTED);
  assert.deepEqual(await verdicts(second, asBefore(request)), ACCEPTED);
  assert.deepEqual(await verdicts(hook.secret, request), REFUSED);
  assert.deepEqual(await verdicts(hook.secret, asBefore(request)), REFUSED);
});

test('a retry after a rotation is signed with the new secret', async () => {
  listener.answer = { status: 500 };
  await service.createAgent();
  await hook.newest('retrying');
  const secret = await rotate();
  await hook.retry();
  const [before = assert.fail(), after = assert.fail()] = listener.received;
  assert.deepEqual(await verdicts(hook.secret, before), ACCEPTED);
  assert.deepEqual(await verdicts(secret, after), ACCEPTED);
  assert.equal(after.body, before.body);
});

test('the secrets of a webhook still sign after a restart', async () => {
  const secret = await rotate();
  await service.restart();
  const request = await nextRequest();
  assert.deepEqual(await verdicts(secret, request), ACCEPTED);
  assert.deepEqual(await verdicts(hook.secret, asBefore(request)), ACCEPTED);
});

test('a rotation is told to other webhooks, without the secret', async () => {
  await createHook(service, { url: `${listener.url}/witness`, events: ['webhook.updated'] });
  const secret = await rotate();
  const [told = assert.fail()] = await listener.first(1);
  assert.deepEqual(
    [told.path, eventIn(told).data['changes'], eventIn(told).data['webhook_id']],
    ['/hook/witness', ['secret'], hook.id],
  );
  assert.ok(!told.body.includes(secret) && !told.body.includes('whsec_'));
});

test('POST …/rotate-secret 404: an unknown webhook', async () => {
  const path = '/api/webhooks/webhook_00000000000000000000000000/rotate-secret';
  assertError(await service.call('POST', path, { admin: true }), 404, 'not_found');
});

test('POST …/rotate-secret 401: not without the administrator', async () => {
  assertError(await service.call('POST', `${hook.path}/rotate-secret`), 401, 'unauthorized');
  assert.equal(signatures(await nextRequest()), 1);
});

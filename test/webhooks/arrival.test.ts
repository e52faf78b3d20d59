import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestAgent, type TestService } from '../harness.ts';
import { createHook, type Hook } from './hook.ts';
import { eventIn, type Listener, listen, type Received } from './listener.ts';
import { ACCEPTED, verdicts } from './stock-verifiers.ts';

let service: TestService;
let listener: Listener;
before(async () => {
  [service, listener] = [await startService(), await listen()];
});
after(async () => {
  await service.stop();
  await listener.close();
});

const asAdmin = (method: string, path: string, json?: unknown) =>
  service.call(method, path, { admin: true, ...(json !== undefined && { json }) });
const aTarget = () => createHook(service, { url: listener.url, events: ['token.issued'], name: 'target' });

interface Scene {
  agent: TestAgent;
  target: Hook;
  hook: Hook;
}
const ofAgent = ({ agent }: Scene) => ({
  agent_id: agent.id,
  agent_name: 'subject',
  client_id: agent.clientId,
});
const ofTarget = ({ target }: Scene) => ({ webhook_id: target.id, webhook_name: 'target' });
const nothing = () => ({});

const operations: ReadonlyArray<
  readonly [type: string, act: (scene: Scene) => Promise<unknown>, data: (scene: Scene) => object]
> = [
  ['agent.created', () => service.createAgent({ name: 'another' }), () => ({ agent_name: 'another' })],
  ['agent.updated', ({ agent }) => asAdmin('PUT', `/api/agents/${agent.id}`, { scopes: ['read'] }), ofAgent],
  ['agent.deleted', ({ agent }) => asAdmin('DELETE', `/api/agents/${agent.id}`), ofAgent],
  [
    'agent.credentials_rotated',
    ({ agent }) => asAdmin('POST', `/api/agents/${agent.id}`, { action: 'rotate' }),
    ofAgent,
  ],
  ['token.issued', ({ agent }) => service.tokens(agent), ofAgent],
  [
    'token.validation_success',
    async ({ agent }) => service.introspect((await service.tokens(agent)).accessToken),
    ofAgent,
  ],
  ['token.validation_failed', () => service.introspect('nonsense'), () => ({ reason: 'invalid' })],
  ['webhook.created', () => createHook(service, { url: listener.url, events: ['agent.deleted'] }), nothing],
  ['webhook.updated', ({ target }) => target.call('PUT', '', { max_retries: 3 }), ofTarget],
  ['webhook.deleted', ({ target }) => target.call('DELETE'), ofTarget],
  [
    'webhook.test',
    ({ hook }) => hook.call('POST', '/test', {}),
    ({ hook }) => ({ webhook_id: hook.id, webhook_name: 'hook' }),
  ],
];

for (const [type, act, data] of operations) {
  test(`${type} arrives at its subscriber, signed, with every header that was promised`, async () => {
    const scene: Scene = {
      agent: await service.createAgent({ name: 'subject' }),
      target: await aTarget(),
      hook: await createHook(service, { url: listener.url, events: [type] }),
    };
    listener.received.length = 0;
    await act(scene);
    const mine = (received: Received) => received.headers['x-webhook-event'] === type;
    const delivery = await scene.hook.newest('delivered');
    const received = listener.received.filter(mine).find(isOf(delivery.id)) ?? assert.fail('nothing came');

    const event = eventIn(received);
    assert.deepEqual(Object.keys(event), ['id', 'type', 'timestamp', 'data']);
    assert.deepEqual([event.id, event.type], [delivery.event_id, type]);
    assert.equal(event.timestamp, new Date(service.clock.now()).toISOString());
    assert.deepEqual({ ...event.data, ...data(scene) }, event.data);
    assertHeaders(received, { eventId: delivery.event_id, now: service.clock.now() });
    assert.deepEqual(await verdicts(scene.hook.secret, received), ACCEPTED);
    assert.doesNotMatch(received.body, /whsec_|\bcs_|\brt_|eyJ/);
    for (const hook of [scene.hook, scene.target]) await hook.call('DELETE');
  });
}

const isOf =
  (deliveryId: string) =>
  ({ headers }: Received): boolean =>
    headers['x-webhook-delivery'] === deliveryId;

function assertHeaders(
  { method, path, headers }: Received,
  { eventId, now }: { eventId: string; now: number },
): void {
  assert.deepEqual([method, path], ['POST', '/hook']);
  assert.equal(headers['content-type'], 'application/json');
  assert.match(String(headers['user-agent']), /^Signet\/\d+\.\d+\.\d+/);
  assert.match(String(headers['x-webhook-signature']), /^[0-9a-f]{64}$/);
  assert.equal(headers['x-webhook-signature-256'], `sha256=${headers['x-webhook-signature']}`);
  assert.equal(headers['webhook-id'], eventId);
  assert.equal(headers['webhook-timestamp'], String(Math.floor(now / 1000)));
  assert.match(String(headers['webhook-signature']), /^v1,\S+$/);
  for (const absent of ['x-webhook-previous-signature-256', 'authorization', 'cookie']) {
    assert.equal(absent in headers, false, absent);
  }
}

test('the query of a webhook’s URL is sent, its fragment is not', async () => {
  const url = `${listener.url}/deep?tenant=7&x=%20#part`;
  const hook = await createHook(service, { url, events: ['agent.created'] });
  listener.received.length = 0;
  await service.createAgent();
  await hook.newest('delivered');
  assert.deepEqual(
    listener.received.map(({ path }) => path),
    ['/hook/deep?tenant=7&x=%20'],
  );
  await hook.call('DELETE');
});

test('a body of characters beyond ASCII arrives as it was signed', async () => {
  const hook = await createHook(service, { url: listener.url, events: ['agent.created'] });
  listener.received.length = 0;
  const name = 'Zoë “quoted” \u2028 日本 🤖';
  await service.createAgent({ name });
  await hook.newest('delivered');
  const [received = assert.fail('nothing came')] = listener.received;
  assert.equal(eventIn(received).data['agent_name'], name);
  assert.deepEqual(await verdicts(hook.secret, received), ACCEPTED);
  await hook.call('DELETE');
});

test('one event reaches every subscriber, with one event id, a delivery and a signature of its own', async () => {
  const one = await createHook(service, { url: listener.url, events: ['agent.created'] });
  const other = await createHook(service, { url: `${listener.url}/other` });
  listener.received.length = 0;
  await service.createAgent();
  for (const hook of [one, other]) await hook.newest('delivered');
  const [first = assert.fail(), second = assert.fail()] = listener.received;
  assert.equal(listener.received.length, 2);
  assert.equal(first.body, second.body);
  assert.notEqual(first.headers['x-webhook-delivery'], second.headers['x-webhook-delivery']);
  assert.notEqual(first.headers['x-webhook-signature'], second.headers['x-webhook-signature']);
  for (const hook of [one, other]) await hook.call('DELETE');
});

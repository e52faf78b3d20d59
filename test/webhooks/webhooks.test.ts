import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { type Answer, startService, type TestService } from '../harness.ts';

const UNKNOWN = '/api/webhooks/webhook_00000000000000000000000000';
const URL = 'http://127.0.0.1:1/hook?tenant=7';
const EVENT_TYPES = [
  'agent.created',
  'agent.updated',
  'agent.deleted',
  'agent.credentials_rotated',
  'token.issued',
  'token.validation_success',
  'token.validation_failed',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'webhook.test',
];

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const create = (json: unknown): Promise<Answer> =>
  service.call('POST', '/api/webhooks', { admin: true, json });
const read = (id: string): Promise<Answer> => service.call('GET', `/api/webhooks/${id}`, { admin: true });
const change = (id: string, json: unknown): Promise<Answer> =>
  service.call('PUT', `/api/webhooks/${id}`, { admin: true, json });
const newWebhook = async (input: object = {}) =>
  (await create({ name: 'hook', url: URL, ...input })).body.webhook;

test('POST /api/webhooks 201: answers the webhook with its defaults, and the secret beside it', async () => {
  const { status, body } = await create({ name: 'audit', url: URL, events: ['agent.created'] });
  assert.equal(status, 201);
  const { id, ...rest } = body.webhook;
  assert.match(id, /^webhook_[0-9a-z]{26}$/);
  assert.match(body.secret, /^whsec_[A-Za-z0-9+/]{44}$/);
  assert.deepEqual(rest, {
    name: 'audit',
    url: URL,
    events: ['agent.created'],
    is_active: true,
    max_retries: 10,
    consecutive_fails: 0,
    created_at: new Date(service.clock.now()).toISOString(),
  });
  assert.deepEqual((await read(id)).body.webhook, body.webhook);
});

test('the secret of a webhook is in no read and no change', async () => {
  const { body } = await create({ name: 'hook', url: URL });
  const { id } = body.webhook;
  const reads = [
    await read(id),
    await change(id, { name: 'renamed' }),
    await service.call('GET', '/api/webhooks', { admin: true }),
  ];
  for (const answer of reads) {
    assert.equal(answer.status, 200);
    assert.doesNotMatch(JSON.stringify(answer.body), /secret|whsec_/);
  }
});

test('two webhooks of one URL have secrets of their own', async () => {
  const [one, other] = [await create({ name: 'a', url: URL }), await create({ name: 'b', url: URL })];
  assert.notEqual(one.body.secret, other.body.secret);
});

for (const maxRetries of [1, 100]) {
  test(`POST /api/webhooks 201: max_retries may be ${maxRetries}`, async () => {
    const { id } = await newWebhook({ max_retries: maxRetries });
    assert.equal((await read(id)).body.webhook.max_retries, maxRetries);
  });
}

test('POST /api/webhooks 201: http is taken as https is, up to 2,048 characters', async () => {
  const url = `http://127.0.0.1:1/${'x'.repeat(2048 - 19)}`;
  const { id } = await newWebhook({ url });
  assert.equal((await read(id)).body.webhook.url, url);
});

test('PUT /api/webhooks/:id 200: each field changes alone, the rest stays', async () => {
  let before = await newWebhook();
  for (const json of [
    { name: 'renamed' },
    { url: 'http://127.0.0.1:2/' },
    { events: ['token.issued'] },
    { is_active: false },
    { max_retries: 3 },
    { is_active: true },
  ]) {
    const { status, body } = await change(before.id, json);
    assert.equal(status, 200);
    assert.deepEqual(body.webhook, { ...before, ...json });
    assert.deepEqual((await read(before.id)).body.webhook, body.webhook);
    before = body.webhook;
  }
});

test('PUT /api/webhooks/:id 400: an empty update is refused', async () => {
  assertError(await change((await newWebhook()).id, {}), 400, 'invalid_request');
});

test('DELETE /api/webhooks/:id 204: the webhook is gone, and a second time is a 404', async () => {
  const path = `/api/webhooks/${(await newWebhook()).id}`;
  const { status, body } = await service.call('DELETE', path, { admin: true });
  assert.deepEqual([status, body], [204, undefined]);
  assertError(await service.call('GET', path, { admin: true }), 404, 'not_found');
  assertError(await service.call('GET', `${path}/deliveries`, { admin: true }), 404, 'not_found');
  assertError(await service.call('DELETE', path, { admin: true }), 404, 'not_found');
});

for (const [method, suffix, json] of [
  ['GET', '', undefined],
  ['PUT', '', { name: 'x' }],
  ['DELETE', '', undefined],
  ['GET', '/deliveries', undefined],
] as const) {
  test(`${method} /api/webhooks/:id${suffix} 404: no such webhook`, async () => {
    const options = { admin: true, ...(json !== undefined && { json }) } as const;
    assertError(await service.call(method, UNKNOWN + suffix, options), 404, 'not_found');
  });
}

test('GET /api/webhook-events 200: lists each type of the specification', async () => {
  const { status, body } = await service.call('GET', '/api/webhook-events', { admin: true });
  assert.equal(status, 200);
  assert.deepEqual(body.events.toSorted(), EVENT_TYPES.toSorted());
});

test('POST /api/webhooks 201: every type that is listed can be subscribed to', async () => {
  const { id } = await newWebhook({ events: EVENT_TYPES });
  assert.deepEqual((await read(id)).body.webhook.events.toSorted(), EVENT_TYPES.toSorted());
});

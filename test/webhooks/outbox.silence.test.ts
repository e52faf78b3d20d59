import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { startService, type TestService } from '../harness.ts';
import { allEvents, deliveriesOf, subscribe } from './subscriber.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const asAdmin = (method: string, path: string, json?: unknown) =>
  service.call(method, path, { admin: true, json });
const typesOf = (events: ReadonlyArray<{ type: string }>): string[] => events.map(({ type }) => type);

test('where nobody subscribes, no event is written', async () => {
  assert.deepEqual(await allEvents(service), []);
  const agent = await service.createAgent();
  await service.introspect((await service.tokens(agent)).accessToken);
  await asAdmin('DELETE', `/api/agents/${agent.id}`);
  assert.deepEqual(await allEvents(service), []);
});

test('a webhook hears of the types that it lists alone', async () => {
  const one = await subscribe(service, 'agent.deleted', 'token.issued');
  const events = await one.eventsOf(async () => {
    const agent = await service.createAgent();
    await service.tokens(agent);
    await asAdmin('PUT', `/api/agents/${agent.id}`, { name: 'renamed' });
    await asAdmin('DELETE', `/api/agents/${agent.id}`);
  });
  assert.deepEqual(typesOf(events), ['token.issued', 'agent.deleted']);
  await asAdmin('DELETE', `/api/webhooks/${one.id}`);
});

for (const [what, events] of [
  ['an empty list', []],
  ['*', ['*']],
  ['* among others', ['agent.deleted', '*']],
] as const) {
  test(`a webhook with ${what} hears of every type`, async () => {
    const one = await subscribe(service, ...events);
    const written = await one.eventsOf(async () => service.tokens(await service.createAgent()));
    assert.deepEqual(typesOf(written), ['agent.created', 'token.issued']);
    await asAdmin('DELETE', `/api/webhooks/${one.id}`);
  });
}

test('a webhook without a list of events hears of every type', async () => {
  const json = { name: 'all', url: 'http://127.0.0.1:1/' };
  const { id } = (await asAdmin('POST', '/api/webhooks', json)).body.webhook;
  await service.createAgent();
  assert.equal((await deliveriesOf(service, id)).length, 1);
  await asAdmin('DELETE', `/api/webhooks/${id}`);
});

test('one event goes to each webhook that wants it, as one delivery each', async () => {
  const [one, other] = [
    await subscribe(service, 'agent.created'),
    await subscribe(service, 'agent.created', 'agent.deleted'),
  ];
  const deaf = await subscribe(service, 'agent.deleted');
  await service.createAgent();
  const heard = await deliveriesOf(service, one.id);
  assert.equal(heard.length, 1);
  assert.deepEqual(await deliveriesOf(service, other.id), heard);
  assert.deepEqual(await deliveriesOf(service, deaf.id), []);
  for (const { id } of [one, other, deaf]) await asAdmin('DELETE', `/api/webhooks/${id}`);
});

test('an inactive webhook hears nothing until it is active again', async () => {
  const one = await subscribe(service, 'agent.created');
  const path = `/api/webhooks/${one.id}`;
  await asAdmin('PUT', path, { is_active: false });
  assert.deepEqual(await one.eventsOf(() => service.createAgent()), []);
  await asAdmin('PUT', path, { is_active: true });
  assert.equal((await one.eventsOf(() => service.createAgent())).length, 1);
  await asAdmin('DELETE', path);
});

test('a change of its list holds from the next event on', async () => {
  const one = await subscribe(service, 'agent.deleted');
  assert.deepEqual(await one.eventsOf(() => service.createAgent()), []);
  await asAdmin('PUT', `/api/webhooks/${one.id}`, { events: ['agent.created'] });
  assert.equal((await one.eventsOf(() => service.createAgent())).length, 1);
  await asAdmin('DELETE', `/api/webhooks/${one.id}`);
});

test('a webhook still hears after a restart', async () => {
  const one = await subscribe(service, 'agent.created');
  await service.restart();
  assert.equal((await one.eventsOf(() => service.createAgent())).length, 1);
  await asAdmin('DELETE', `/api/webhooks/${one.id}`);
});

test('webhook events go to other webhooks only, and name the webhook without its secret', async () => {
  const witness = await subscribe(service, 'webhook.created', 'webhook.updated', 'webhook.deleted');
  const secrets = [witness.secret];
  let id = '';
  const events = await witness.eventsOf(async () => {
    const other = await subscribe(service);
    id = other.id;
    secrets.push(other.secret);
    await asAdmin('PUT', `/api/webhooks/${id}`, { name: 'renamed', max_retries: 3 });
    assert.deepEqual(await deliveriesOf(service, id), []);
    await asAdmin('DELETE', `/api/webhooks/${id}`);
  });
  assert.deepEqual(typesOf(events), ['webhook.created', 'webhook.updated', 'webhook.deleted']);
  assert.deepEqual(
    events.map(({ data }) => [data['webhook_id'], data['webhook_name']]),
    [
      [id, 'subscriber'],
      [id, 'renamed'],
      [id, 'renamed'],
    ],
  );
  assert.deepEqual(events[1]?.data['changes'], ['name', 'max_retries']);
  for (const secret of secrets) assert.ok(!JSON.stringify(events).includes(secret));
  await asAdmin('DELETE', `/api/webhooks/${witness.id}`);
});

test('what happens to the only webhook there is writes no event', async () => {
  const before = (await allEvents(service)).length;
  const path = `/api/webhooks/${(await subscribe(service)).id}`;
  await asAdmin('PUT', path, { name: 'renamed' });
  await asAdmin('PUT', path, { is_active: false });
  await asAdmin('PUT', path, { is_active: true });
  await asAdmin('DELETE', path);
  assert.equal((await allEvents(service)).length, before);
});

test('a change that is refused leaves no event', async () => {
  const one = await subscribe(service);
  const agent = await service.createAgent({ scopes: ['read', 'write'] });
  const path = `/api/agents/${agent.id}`;
  const narrowed = (await service.tokens(agent, 'read')).accessToken;
  for (let round = 0; round < 4; round++)
    await asAdmin('POST', path, { action: 'rotate', grace_period_secs: 60 });
  const events = await one.eventsOf(async () => {
    const owned = { name: 'x', organization_id: 'org_none' };
    assertError(await asAdmin('POST', '/api/agents', owned), 400, 'invalid_request');
    assertError(await asAdmin('PUT', path, { name: 'x', team_id: 'team_none' }), 400, 'invalid_request');
    assertError(await asAdmin('POST', path, { action: 'rotate', grace_period_secs: 60 }), 409, 'conflict');
    for (const method of ['PUT', 'DELETE']) {
      const json = method === 'PUT' ? { name: 'x' } : undefined;
      assertError(await asAdmin(method, '/api/agents/agent_none', json), 404, 'not_found');
      assertError(await asAdmin(method, '/api/webhooks/webhook_none', json), 404, 'not_found');
    }
    const self = await service.call('DELETE', '/api/agents/me/delete', { bearer: narrowed });
    assertError(self, 403, 'insufficient_scope');
    const wrong = { grant_type: 'client_credentials', client_id: agent.clientId, client_secret: 'cs_wrong' };
    assertError(await service.call('POST', '/oauth/token', { json: wrong }), 401, 'invalid_client');
  });
  assert.deepEqual(events, []);
});

test('of two uses of one refresh token at once, the one that wins alone is an event', async () => {
  const { refreshToken } = await service.tokens(await service.createAgent());
  const one = await subscribe(service, 'token.issued');
  const json = { grant_type: 'refresh_token', refresh_token: refreshToken };
  const events = await one.eventsOf(() =>
    Promise.all([1, 2, 3].map(() => service.call('POST', '/oauth/refresh', { json }))),
  );
  assert.deepEqual(typesOf(events), ['token.issued']);
});

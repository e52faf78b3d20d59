import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestAgent, type TestService } from '../harness.ts';
import { type Subscriber, subscribe, type WrittenEvent } from './subscriber.ts';

let service: TestService;
let subscriber: Subscriber;
before(async () => {
  service = await startService();
  subscriber = await subscribe(service);
});
after(() => service.stop());

interface Scene {
  agent: TestAgent;
  accessToken: string;
  refreshToken: string;
}

async function scene(): Promise<Scene> {
  const agent = await service.createAgent({ name: 'subject' });
  return { agent, ...(await service.tokens(agent)) };
}

const asAdmin = (method: string, path: string, json?: unknown) =>
  service.call(method, path, { admin: true, json });
const asAgent = (method: string, path: string, { accessToken }: Scene) =>
  service.call(method, path, { bearer: accessToken });
const refresh = ({ refreshToken }: Scene, path: string) =>
  service.call('POST', path, { json: { grant_type: 'refresh_token', refresh_token: refreshToken } });

const byAdministrator = { updated_by: 'administrator' };
const operations: ReadonlyArray<
  readonly [
    what: string,
    type: string,
    detail: Record<string, unknown>,
    act: (scene: Scene) => Promise<unknown>,
  ]
> = [
  [
    'PUT /api/agents/:id',
    'agent.updated',
    { ...byAdministrator, changes: ['scopes'] },
    ({ agent }) => asAdmin('PUT', `/api/agents/${agent.id}`, { scopes: ['read'] }),
  ],
  [
    'POST /api/agents/:id deactivate',
    'agent.updated',
    { ...byAdministrator, changes: ['is_active'] },
    ({ agent }) => asAdmin('POST', `/api/agents/${agent.id}`, { action: 'deactivate' }),
  ],
  [
    'POST /api/agents/:id rotate',
    'agent.credentials_rotated',
    { rotated_by: 'administrator' },
    ({ agent }) => asAdmin('POST', `/api/agents/${agent.id}`, { action: 'rotate', grace_period_secs: 5 }),
  ],
  [
    'DELETE /api/agents/:id',
    'agent.deleted',
    { deleted_by: 'administrator' },
    ({ agent }) => asAdmin('DELETE', `/api/agents/${agent.id}`),
  ],
  [
    'POST /api/agents/me/rotate',
    'agent.credentials_rotated',
    { rotated_by: 'agent' },
    (scene) => asAgent('POST', '/api/agents/me/rotate', scene),
  ],
  [
    'POST /api/agents/me/deactivate',
    'agent.updated',
    { updated_by: 'agent', changes: ['is_active'] },
    (scene) => asAgent('POST', '/api/agents/me/deactivate', scene),
  ],
  [
    'DELETE /api/agents/me/delete',
    'agent.deleted',
    { deleted_by: 'agent' },
    (scene) => asAgent('DELETE', '/api/agents/me/delete', scene),
  ],
  [
    'POST /oauth/token with client credentials',
    'token.issued',
    { grant_type: 'client_credentials', scope: 'read' },
    ({ agent }) => service.tokens(agent, 'read'),
  ],
  [
    'POST /oauth/token with a refresh token',
    'token.issued',
    { grant_type: 'refresh_token' },
    (scene) => refresh(scene, '/oauth/token'),
  ],
  [
    'POST /oauth/refresh',
    'token.issued',
    { grant_type: 'refresh_token' },
    (scene) => refresh(scene, '/oauth/refresh'),
  ],
  [
    'POST /oauth/introspect of an active access token',
    'token.validation_success',
    { token_type: 'access_token', scope: 'read write' },
    ({ accessToken }) => service.introspect(accessToken),
  ],
  [
    'POST /oauth/introspect of an active refresh token',
    'token.validation_success',
    { token_type: 'refresh_token', scope: 'read write' },
    ({ refreshToken }) => service.introspect(refreshToken),
  ],
];

for (const [what, type, detail, act] of operations) {
  test(`${what} writes one ${type} that names the agent, and no secret`, async () => {
    const subject = await scene();
    const events = await subscriber.eventsOf(() => act(subject));
    const [event] = assertOne(events, type);
    assert.deepEqual({ ...event.data, ...agentFields(subject.agent), ...detail }, event.data);
    assertNoSecret(event, subject);
  });
}

test('POST /api/agents writes one agent.created, on either path', async () => {
  const organization = { name: 'Acme', slug: 'acme', owner_email: 'owner@acme.example' };
  const { id } = (await asAdmin('POST', '/api/organizations', organization)).body;
  for (const [path, organizationId] of [
    ['/api/agents', null],
    [`/api/organizations/${id}/agents`, id],
  ]) {
    let secret = '';
    const events = await subscriber.eventsOf(async () => {
      secret = (await asAdmin('POST', path, { name: 'subject' })).body.client_secret;
    });
    const [{ data, ...event }] = assertOne(events, 'agent.created');
    assert.deepEqual([data['agent_name'], data['organization_id']], ['subject', organizationId]);
    assert.deepEqual(Object.keys(event).sort(), ['id', 'timestamp', 'type']);
    assert.ok(secret !== '' && !JSON.stringify(data).includes(secret));
  }
});

test('POST /api/agents/:id reactivate writes one agent.updated', async () => {
  const { agent } = await scene();
  await asAdmin('POST', `/api/agents/${agent.id}`, { action: 'deactivate' });
  const events = await subscriber.eventsOf(() =>
    asAdmin('POST', `/api/agents/${agent.id}`, { action: 'reactivate' }),
  );
  const [event] = assertOne(events, 'agent.updated');
  assert.deepEqual(event.data['changes'], ['is_active']);
});

test('POST /oauth/introspect of a dead token writes one token.validation_failed with the reason', async () => {
  const subject = await scene();
  await asAdmin('POST', `/api/agents/${subject.agent.id}`, { action: 'revoke_tokens' });
  const events = await subscriber.eventsOf(() => service.introspect(subject.accessToken));
  const [event] = assertOne(events, 'token.validation_failed');
  assert.deepEqual([event.data['reason'], event.data['agent_id']], ['revoked', subject.agent.id]);
  assertNoSecret(event, subject);
});

test('POST /oauth/introspect of a foreign token writes one token.validation_failed without the token', async () => {
  const token = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJub2JvZHkifQ.';
  const events = await subscriber.eventsOf(() => service.introspect(token));
  const [event] = assertOne(events, 'token.validation_failed');
  assert.deepEqual(event.data['reason'], 'invalid');
  assert.equal(JSON.stringify(event).includes('eyJ'), false);
});

test('an event carries its own id, type and time', async () => {
  const [event] = assertOne(await subscriber.eventsOf(() => service.createAgent()), 'agent.created');
  assert.match(event.id, /^evt_[0-9a-z]{26}$/);
  assert.equal(event.timestamp, new Date(service.clock.now()).toISOString());
});

function assertOne(events: readonly WrittenEvent[], type: string): [WrittenEvent] {
  assert.deepEqual(
    events.map((event) => event.type),
    [type],
  );
  return [events[0] ?? assert.fail()];
}

const agentFields = (agent: TestAgent) => ({
  agent_id: agent.id,
  agent_name: 'subject',
  client_id: agent.clientId,
  organization_id: null,
});

function assertNoSecret(event: WrittenEvent, { agent, accessToken, refreshToken }: Scene): void {
  const text = JSON.stringify(event);
  for (const secret of [agent.clientSecret, accessToken, refreshToken]) assert.ok(!text.includes(secret));
  assert.doesNotMatch(text, /\bcs_|\brt_|whsec_|eyJ/);
}

import assert from 'node:assert/strict';
import { ADMIN, type Answer, type CallOptions, send, type TestService } from '../harness.ts';

export type Request = readonly [path: string, options: CallOptions];

const NOBODY_LISTENS = 'http://127.0.0.1:1/hook';

/** Each operation that changes something, by its name in the OpenAPI document, with what it needs to be called. */
export function changingRequests(service: TestService): Record<string, () => Promise<Request>> {
  const admin = true;
  let made = 0;
  const post = async (path: string, json: object) => (await service.call('POST', path, { admin, json })).body;
  const organization = async () => {
    made += 1;
    const input = { name: 'Acme', slug: `acme-${made}`, owner_email: 'owner@acme.test' };
    return `/api/organizations/${(await post('/api/organizations', input)).id}`;
  };
  const team = async () => {
    const teams = `${await organization()}/teams`;
    return `${teams}/${(await post(teams, { name: 'billing' })).id}`;
  };
  const webhook = async () =>
    `/api/webhooks/${(await post('/api/webhooks', { name: 'hook', url: NOBODY_LISTENS })).webhook.id}`;
  const agent = async () => `/api/agents/${(await service.createAgent()).id}`;
  const administrator = async () => {
    made += 1;
    const input = { email: `somebody${made}@signet.test`, role: 'viewer' };
    return `/api/administrators/${(await post('/api/administrators', input)).administrator.id}`;
  };
  const ownKey = async () => `keys/${(await post('/api/administrators/me/keys', { name: 'script' })).key.id}`;
  const bearer = async () => ({ bearer: (await service.tokens(await service.createAgent())).accessToken });

  return {
    'POST /api/agents': async () => ['/api/agents', { admin, json: { name: 'made' } }],
    'PUT /api/agents/{id}': async () => [await agent(), { admin, json: { name: 'renamed' } }],
    'POST /api/agents/{id}': async () => [await agent(), { admin, json: { action: 'rotate' } }],
    'DELETE /api/agents/{id}': async () => [await agent(), { admin }],
    'POST /api/agents/me/rotate': async () => ['/api/agents/me/rotate', await bearer()],
    'POST /api/agents/me/deactivate': async () => ['/api/agents/me/deactivate', await bearer()],
    'DELETE /api/agents/me/delete': async () => ['/api/agents/me/delete', await bearer()],
    'POST /api/organizations': async () => [
      '/api/organizations',
      { admin, json: { name: 'Other', slug: 'other', owner_email: 'owner@other.test' } },
    ],
    'PUT /api/organizations/{id}': async () => [
      await organization(),
      { admin, json: { jwt_expiry_secs: 60 } },
    ],
    'DELETE /api/organizations/{id}': async () => [await organization(), { admin }],
    'POST /api/organizations/{org_id}/agents': async () => [
      `${await organization()}/agents`,
      { admin, json: { name: 'owned' } },
    ],
    'POST /api/organizations/{org_id}/teams': async () => [
      `${await organization()}/teams`,
      { admin, json: { name: 'support' } },
    ],
    'PUT /api/organizations/{org_id}/teams/{team_id}': async () => [
      await team(),
      { admin, json: { description: 'who pays' } },
    ],
    'DELETE /api/organizations/{org_id}/teams/{team_id}': async () => [await team(), { admin }],
    'POST /api/webhooks': async () => [
      '/api/webhooks',
      { admin, json: { name: 'made', url: NOBODY_LISTENS } },
    ],
    'PUT /api/webhooks/{id}': async () => [await webhook(), { admin, json: { is_active: false } }],
    'DELETE /api/webhooks/{id}': async () => [await webhook(), { admin }],
    'POST /api/webhooks/{id}/rotate-secret': async () => [`${await webhook()}/rotate-secret`, { admin }],
    'POST /api/webhooks/{id}/test': async () => [`${await webhook()}/test`, { admin, json: {} }],
    'POST /api/webhooks/{id}/deliveries/{delivery_id}/redeliver': async () => {
      const path = await webhook();
      const { delivery_id: id } = await post(`${path}/test`, {});
      return [`${path}/deliveries/${id}/redeliver`, { admin }];
    },
    'POST /api/administrators': async () => [
      '/api/administrators',
      { admin, json: { email: 'made@signet.test', role: 'owner' } },
    ],
    'PUT /api/administrators/{id}': async () => [
      await administrator(),
      { admin, json: { role: 'operator' } },
    ],
    'DELETE /api/administrators/{id}': async () => [await administrator(), { admin }],
    'DELETE /api/administrators/{id}/keys/{key_id}': async () => {
      const me = (await service.call('GET', '/api/administrators/me', { admin })).body.administrator.id;
      return [`/api/administrators/${me}/${await ownKey()}`, { admin }];
    },
    'PUT /api/administrators/me': async () => [
      '/api/administrators/me',
      { admin, json: { current_password: ADMIN.password, password: ADMIN.password } },
    ],
    'POST /api/administrators/me/keys': async () => [
      '/api/administrators/me/keys',
      { admin, json: { name: 'made' } },
    ],
    'DELETE /api/administrators/me/keys/{key_id}': async () => [
      `/api/administrators/me/${await ownKey()}`,
      { admin },
    ],
    'POST /api/keys/rotate': async () => ['/api/keys/rotate', { admin }],
  };
}

/** The names of all operations of administrators and agents that are no reads. */
export async function changingOperations(service: TestService): Promise<string[]> {
  const { paths } = (await send(service.url, 'GET', '/openapi.json')).body;
  return Object.entries<Record<string, { security?: object[] }>>(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method, { security = [] }]) => method !== 'get' && security.some(isOfSomebody))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );
}

const isOfSomebody = (scheme: object): boolean => 'administrator' in scheme || 'accessToken' in scheme;

export async function auditLog(service: TestService, query = ''): Promise<Answer['body']> {
  const { status, body } = await service.call('GET', `/api/audit-log${query}`, { admin: true });
  assert.equal(status, 200);
  return body;
}

/** The one entry that a change adds; the change must succeed. */
export async function entryOf(service: TestService, change: () => Promise<Answer>): Promise<Answer['body']> {
  const before = (await auditLog(service, '?limit=1')).head.position;
  const { status, body } = await change();
  assert.ok(status < 300, JSON.stringify(body));
  const { entries, head } = await auditLog(service, '?limit=1');
  assert.equal(head.position, before + 1, 'a change adds one entry');
  return entries[0];
}

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestService } from '../harness.ts';

let service: TestService;
const created: Record<string, string> = {};
before(async () => {
  service = await startService();
  created['agent'] = (await service.createAgent()).id;
  const organization = { name: 'Acme', slug: 'acme', owner_email: 'owner@acme.test' };
  const answer = await service.call('POST', '/api/organizations', { admin: true, json: organization });
  created['organization'] = answer.body.id;
  const webhook = { name: 'audit', url: 'https://receiver.test/' };
  const made = await service.call('POST', '/api/webhooks', { admin: true, json: webhook });
  created['webhook'] = made.body.webhook.id;
});
after(() => service.stop());

const text = [1, true, null, ['x'], { x: 1 }];
const number = ['5', 1.5, true, [5], { x: 1 }, 0, -1, 1e21];
const flag = ['true', 0, 1, null, []];
const list = ['read', 5, null, { 0: 'read' }, [['read']], [null], [5]];
const nullableNumber = number;
const nullableText = [1, true, ['x'], { x: 1 }];

/** For each endpoint a right body, and for each of its fields the values that it must not take. */
const endpoints: ReadonlyArray<[string, string, Record<string, unknown>, Record<string, unknown[]>]> = [
  [
    'POST',
    '/api/agents',
    { name: 'x' },
    {
      name: [...text, '', ' ', 'x'.repeat(201)],
      scopes: [...list, [], ['read', 'read'], ['root']],
      organization_id: nullableText,
      team_id: nullableText,
      expires_in: nullableNumber,
    },
  ],
  [
    'PUT',
    '/api/agents/:agent',
    {},
    { name: text, scopes: list, is_active: flag, team_id: nullableText, expires_in: nullableNumber },
  ],
  [
    'POST',
    '/api/agents/:agent',
    { action: 'rotate' },
    { action: [...text, 'dance'], grace_period_secs: ['5', 1.5, -1, 604_801, null] },
  ],
  [
    'POST',
    '/api/organizations',
    { name: 'x', slug: 'other', owner_email: 'a@b.test' },
    {
      name: text,
      slug: [...text, '', 'Acme', 'a_b', '-a', 'a--b', 'x'.repeat(64)],
      owner_email: [...text, 'nobody', '@b.test'],
    },
  ],
  [
    'PUT',
    '/api/organizations/:organization',
    {},
    { name: text, jwt_expiry_secs: [...nullableNumber, 2_592_001] },
  ],
  ['POST', '/api/organizations/:organization/teams', { name: 'x' }, { name: text, description: text }],
  [
    'POST',
    '/api/webhooks',
    { name: 'x', url: 'https://receiver.test/' },
    {
      name: text,
      url: [...text, '', 'receiver', 'ftp://x.test', 'https://u:p@x.test'],
      events: ['*', 5, null, { 0: '*' }, ['agent.exploded'], [5]],
      max_retries: [...number, 101],
    },
  ],
  ['PUT', '/api/webhooks/:webhook', {}, { name: text, is_active: flag, max_retries: number }],
];

async function everything(): Promise<unknown[]> {
  const paths = ['/api/agents', '/api/organizations', '/api/webhooks'];
  const answers = await Promise.all(paths.map((path) => service.call('GET', path, { admin: true })));
  return answers.map((answer) => answer.body);
}

for (const [method, template, right, fields] of endpoints) {
  test(`${method} ${template} 400: a field of the wrong type or out of range is named, and nothing changes`, async () => {
    const path = template.replace(/:(\w+)/, (_, name: string) => created[name] ?? '');
    const before = await everything();
    for (const [field, values] of Object.entries(fields)) {
      for (const value of values) {
        const json = { ...right, [field]: value };
        const { status, body } = await service.call(method, path, { admin: true, json });
        assert.deepEqual([status, body.error], [400, 'invalid_request'], JSON.stringify(json));
        assert.ok(body.error_description.startsWith(field), body.error_description);
      }
    }
    const unknown = await service.call(method, path, { admin: true, json: { ...right, nmae: 'x' } });
    assert.equal(unknown.body.error_description, 'nmae: there is no such field.');
    assert.deepEqual(await everything(), before);
  });
}

test('POST /oauth/*: a parameter that is no string is refused and named', async () => {
  const { clientId, clientSecret } = await service.createAgent();
  const right = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const wrong = (path: string, body: object, field: string) =>
    Promise.all(
      text.map(async (value) => {
        const answer = await service.call('POST', path, { json: { ...body, [field]: value } });
        assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_request'], `${path} ${field}`);
        assert.ok(answer.body.error_description.startsWith(field));
      }),
    );
  for (const field of [...Object.keys(right), 'scope']) await wrong('/oauth/token', right, field);
  await wrong('/oauth/refresh', { grant_type: 'refresh_token' }, 'refresh_token');
  await wrong('/oauth/introspect', {}, 'token');
  await wrong('/oauth/revoke', {}, 'token');
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError } from '../assert-error.ts';
import { startService, type TestService } from '../harness.ts';

const LARGEST_BODY = 64 * 1024;

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

let made = 0;
const nextSlug = (): string => `acme-${++made}`;

async function create(path: string, json: unknown): Promise<string> {
  const { body } = await service.call('POST', path, { admin: true, json });
  return body.id ?? body.webhook.id;
}

async function createOrganization(): Promise<string> {
  const json = { name: 'Acme', slug: nextSlug(), owner_email: 'owner@acme.example' };
  return `/api/organizations/${await create('/api/organizations', json)}`;
}

async function createTeam(): Promise<string> {
  const teams = `${await createOrganization()}/teams`;
  return `${teams}/${await create(teams, { name: 'team' })}`;
}

async function createWebhook(): Promise<string> {
  const json = { name: 'hook', url: 'http://127.0.0.1:1/' };
  return `/api/webhooks/${await create('/api/webhooks', json)}`;
}

for (const [what, path] of [
  ['/api/agents/:id', async () => `/api/agents/${(await service.createAgent()).id}`],
  ['/api/organizations/:org_id/teams/:team_id', createTeam],
  ['/api/organizations/:id', createOrganization],
  ['/api/webhooks/:id', createWebhook],
] as const) {
  test(`DELETE ${what} 413 and 415: a body that cannot be read is refused, and nothing is deleted`, async () => {
    const target = await path();
    const text = { body: 'please', contentType: 'text/plain' };
    const refused = await service.call('DELETE', target, { admin: true, raw: text });
    assertError(refused, 415, 'unsupported_media_type');
    const large = { body: ' '.repeat(LARGEST_BODY + 1), contentType: 'application/json' };
    const tooLarge = await service.call('DELETE', target, { admin: true, raw: large });
    assertError(tooLarge, 413, 'payload_too_large');
    assert.equal((await service.call('GET', target, { admin: true })).status, 200);
  });

  test(`DELETE ${what} 204: an empty body of JSON type is as good as none`, async () => {
    const json = { body: '', contentType: 'application/json' };
    const target = await path();
    assert.equal((await service.call('DELETE', target, { admin: true, raw: json })).status, 204);
    assertError(await service.call('GET', target, { admin: true }), 404, 'not_found');
  });
}

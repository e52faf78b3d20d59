import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { send, startService, type TestAgent, type TestService } from '../harness.ts';
import { assertRefused, change, refresh, requestToken } from '../oauth/requests.ts';

let service: TestService;
let reader: TestAgent;
let victim: TestAgent;
before(async () => {
  service = await startService();
  reader = await service.createAgent({ name: 'reader', scopes: ['read'] });
  victim = await service.createAgent({ name: 'victim', scopes: ['read', 'write', 'admin'] });
});
after(() => service.stop());

test('one kind of token is worth nothing in the place of another', async () => {
  const { accessToken, refreshToken } = await service.tokens(reader);
  for (const wrong of [accessToken, reader.clientSecret, reader.clientId, `rt_1_${reader.clientSecret}`]) {
    assertRefused(await refresh(service, wrong), 400, 'invalid_grant');
  }
  for (const wrong of [accessToken, refreshToken]) {
    assertRefused(await requestToken(service, { ...reader, clientSecret: wrong }), 401, 'invalid_client');
  }
  for (const bearer of [refreshToken, reader.clientSecret]) {
    assert.equal((await service.call('GET', '/api/agents/me', { bearer })).status, 401);
  }
});

test('a refresh token put together of two is worth nothing, and harms neither', async () => {
  const [mine, theirs] = [await service.tokens(reader), await service.tokens(victim)];
  const [, mineRow, mineSecret] = mine.refreshToken.split('_');
  const [, theirRow, theirSecret] = theirs.refreshToken.split('_');
  for (const spliced of [`rt_${theirRow}_${mineSecret}`, `rt_${mineRow}_${theirSecret}`]) {
    assertRefused(await refresh(service, spliced), 400, 'invalid_grant');
    await service.call('POST', '/oauth/revoke', { json: { token: spliced } });
  }
  for (const token of [mine.refreshToken, theirs.refreshToken]) {
    assert.equal((await service.introspect(token)).active, true);
  }
});

test('no way of asking gets a scope that the agent does not hold', async () => {
  const wishes = [
    'admin',
    'read admin',
    'read  admin',
    'read\tadmin',
    'read\nadmin',
    'read+admin',
    'READ',
    'read%20admin',
    'read,admin',
    '*',
    'read admin\u0000',
    'ａdmin',
  ];
  for (const scope of wishes) {
    const { status, body } = await requestToken(service, reader, { scope });
    assert.equal(status, 400, scope);
    assert.ok(['invalid_scope', 'invalid_request'].includes(body.error), scope);
  }
  for (const scope of [['read', 'admin'], { 0: 'admin' }, true]) {
    assertRefused(await requestToken(service, reader, { scope }), 400, 'invalid_request');
  }
  const more = {
    scopes: ['admin'],
    'scope[]': 'admin',
    Scope: 'admin',
    scp: 'admin',
    permissions: ['admin'],
  };
  const { body } = await requestToken(service, reader, more);
  assert.equal(body.scope, 'read');
});

test('no refresh gets a scope beyond its grant, not even one that the agent gained since', async () => {
  const agent = await service.createAgent({ scopes: ['read'] });
  const { accessToken, refreshToken } = await service.tokens(agent);
  await change(service, agent, { scopes: ['read', 'write', 'admin'] });
  assert.equal((await service.introspect(accessToken)).scope, 'read');
  assertRefused(await refresh(service, refreshToken, { scope: 'read write' }), 400, 'invalid_scope');
  const { body } = await refresh(service, refreshToken);
  assert.equal(body.scope, 'read');
  assert.equal((await service.introspect(body.refresh_token)).scope, 'read');
});

test('a token with every scope opens no administrator path, and a narrowed one changes nothing of its agent', async () => {
  const { accessToken: whole } = await service.tokens(victim);
  for (const path of [
    '/api/agents',
    `/api/agents/${reader.id}`,
    '/api/organizations',
    '/api/webhooks',
    '/api/keys',
  ]) {
    assert.equal((await service.call('GET', path, { bearer: whole })).status, 401, path);
  }
  const { accessToken: narrow } = await service.tokens(victim, 'read write');
  for (const [method, path] of [
    ['POST', '/api/agents/me/rotate'],
    ['POST', '/api/agents/me/deactivate'],
    ['DELETE', '/api/agents/me/delete'],
  ] as const) {
    assertRefused(await service.call(method, path, { bearer: narrow }), 403, 'insufficient_scope');
  }
  assert.equal((await service.call('GET', '/api/agents/me', { bearer: whole })).status, 200);
});

/** Members that the service keeps for itself, or that belong to another request. */
const EXTRA = {
  id: 'agent_01k0d4v3s6e8wbn7xtq5mzr2ch',
  client_id: 'cid_chosen',
  client_secret: 'chosen',
  secret: 'whsec_chosen',
  token_epoch: 9,
  token_count: 9,
  is_active: false,
  created_at: '2020-01-01T00:00:00.000Z',
  plan: 'enterprise',
  role: 'owner',
  password_hash: 'chosen',
  consecutive_fails: 0,
  organization_id: 'org_01k0d4v3s6e8wbn7xtq5mzr2ch',
  constructor: {},
  prototype: {},
};

interface Operation {
  requestBody?: { content: Record<string, { schema: { properties?: object; required?: string[] } }> };
}

test('no body sets what its operation does not name: extra members are refused by name under /api', async () => {
  const { body } = await send(service.url, 'GET', '/openapi.json');
  const { accessToken: bearer } = await service.tokens(victim);
  let tried = 0;
  for (const [path, operations] of Object.entries(body.paths as Record<string, Record<string, Operation>>)) {
    if (!path.startsWith('/api/')) continue;
    for (const [method, operation] of Object.entries(operations)) {
      const schema = operation.requestBody?.content['application/json']?.schema;
      if (schema === undefined) continue;
      for (const [name, value] of Object.entries(EXTRA)) {
        if (name in (schema.properties ?? {})) continue;
        const answer = await service.call(method.toUpperCase(), path.replace(/\{\w+\}/g, victim.id), {
          ...(path.startsWith('/api/agents/me') ? { bearer } : { admin: true }),
          json: { ...validBody(schema), [name]: value },
        });
        assertRefused(answer, 400, 'invalid_request');
        assert.match(
          answer.body.error_description,
          new RegExp(`^${name}: there is no such field`),
          `${method} ${path}`,
        );
        tried += 1;
      }
    }
  }
  assert.ok(tried > 80, String(tried));
});

const RIGHT: Record<string, unknown> = {
  name: 'x',
  slug: 'x',
  owner_email: 'a@b.test',
  url: 'https://receiver.test/',
  action: 'rotate',
  event: 'webhook.test',
  email: 'a@b.test',
  role: 'viewer',
  password: 'long enough',
  current_password: 'long enough',
};
const validBody = (schema: { required?: string[] }) =>
  Object.fromEntries((schema.required ?? []).map((name) => [name, RIGHT[name]]));

test('POST /oauth/token: extra members change nothing of a token', async () => {
  const wishes = {
    sub: victim.id,
    iss: 'x',
    aud: 'x',
    exp: 1,
    expires_in: 9_999_999,
    jti: 'x',
    org_id: 'x',
    agent_id: victim.id,
    token_epoch: 9,
  };
  const { body } = await requestToken(service, reader, wishes);
  const { sub, iss, aud, org_id: organization, exp, iat } = await service.introspect(body.access_token);
  assert.deepEqual(
    [sub, iss, aud, organization, exp - iat],
    [reader.id, service.url, service.url, undefined, 3600],
  );
});

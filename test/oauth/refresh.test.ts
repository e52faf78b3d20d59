import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestAgent, type TestService } from '../harness.ts';
import { assertReason, assertRefused, change, countsOf, refresh, requestToken } from './requests.ts';

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService();
  agent = await service.createAgent();
});
after(() => service.stop());

for (const path of ['/oauth/refresh', '/oauth/token']) {
  for (const kind of ['json', 'form'] as const) {
    test(`POST ${path} 200: a refresh token in a ${kind} body brings new tokens`, async () => {
      const first = await service.tokens(agent);
      const parameters = { grant_type: 'refresh_token', refresh_token: first.refreshToken };
      const { status, body, headers } = await service.call('POST', path, { [kind]: parameters });
      assert.equal(status, 200);
      assert.deepEqual([body.token_type, body.expires_in, body.scope], ['Bearer', 3600, 'read write']);
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.notEqual(body.access_token, first.accessToken);
      assert.notEqual(body.refresh_token, first.refreshToken);
      await assertReason(service, body.access_token, null);
      await assertReason(service, body.refresh_token, null);
      await assertReason(service, first.accessToken, null);
    });
  }
}

test('POST /oauth/refresh 200: a refresh is counted as a refresh and as a token', async () => {
  const own = await service.createAgent();
  let { refreshToken } = await service.tokens(own);
  for (let round = 0; round < 3; round++) {
    refreshToken = (await refresh(service, refreshToken)).body.refresh_token;
  }
  assert.deepEqual(await countsOf(service, own), { tokens: 4, refreshes: 3 });
});

test('POST /oauth/refresh 400: a missing or foreign field is named', async () => {
  const { refreshToken } = await service.tokens(agent);
  for (const [json, error] of [
    [{ refresh_token: refreshToken }, 'invalid_request'],
    [{ grant_type: 'refresh_token' }, 'invalid_request'],
    [{ grant_type: 'refresh_token', refresh_token: 1 }, 'invalid_request'],
    [{ grant_type: 'client_credentials', refresh_token: refreshToken }, 'unsupported_grant_type'],
  ] as const) {
    assertRefused(await service.call('POST', '/oauth/refresh', { json }), 400, error);
  }
  const json = { grant_type: 'refresh_token' };
  assertRefused(await service.call('POST', '/oauth/token', { json }), 400, 'invalid_request');
  await assertReason(service, refreshToken, null);
});

test('POST /oauth/refresh 400: what is not a refresh token of ours is invalid_grant', async () => {
  const { accessToken, refreshToken } = await service.tokens(agent);
  const [, row, secret] = refreshToken.split('_') as [string, string, string];
  const [, , foreignSecret] = (await service.tokens(agent)).refreshToken.split('_') as [
    string,
    string,
    string,
  ];
  const strangers = [
    'rt_',
    'rt_1_x',
    accessToken,
    agent.clientSecret,
    `rt_${row}_${foreignSecret}`,
    `rt_0${row}_${secret}`,
    `rt_zzzzzzzzzz_${secret}`,
    `rt_zzzzzzzzzzz_${secret}`,
    `${refreshToken} `,
    `${refreshToken}\n`,
    refreshToken.toUpperCase(),
    refreshToken.slice(0, -1),
    `${refreshToken}0`,
  ];
  for (const stranger of strangers) {
    assertRefused(await refresh(service, stranger), 400, 'invalid_grant');
  }
  assert.equal((await refresh(service, refreshToken)).status, 200);
});

test('POST /oauth/refresh 200: `scope` narrows this access token and no later one', async () => {
  const { refreshToken } = await service.tokens(agent);
  const narrowed = await refresh(service, refreshToken, { scope: 'read' });
  assert.equal(narrowed.body.scope, 'read');
  assert.equal((await service.introspect(narrowed.body.access_token)).scope, 'read');
  assert.equal((await service.introspect(narrowed.body.refresh_token)).scope, 'read write');
  assert.equal((await refresh(service, narrowed.body.refresh_token)).body.scope, 'read write');
});

test('POST /oauth/refresh 400: a scope beyond the grant is refused, and the token is not used up by it', async () => {
  const { refreshToken } = await service.tokens(agent, 'read');
  for (const scope of ['write', 'read write', 'admin', 'read  read', 'nobody']) {
    assertRefused(await refresh(service, refreshToken, { scope }), 400, 'invalid_scope');
  }
  assert.equal((await refresh(service, refreshToken)).body.scope, 'read');
});

test('POST /oauth/refresh 200: scopes that the agent has lost are lost, and come back with the agent', async () => {
  const own = await service.createAgent({ scopes: ['read', 'write', 'admin'] });
  const { refreshToken } = await service.tokens(own, 'read write');
  await change(service, own, { scopes: ['write', 'admin'] });
  assertRefused(await refresh(service, refreshToken, { scope: 'read' }), 400, 'invalid_scope');
  const { body } = await refresh(service, refreshToken);
  assert.equal(body.scope, 'write');
  await change(service, own, { scopes: ['admin'] });
  assertRefused(await refresh(service, body.refresh_token), 400, 'invalid_scope');
  await change(service, own, { scopes: ['read', 'write', 'admin'] });
  assert.equal((await refresh(service, body.refresh_token)).body.scope, 'read write');
});

test('POST /oauth/token: with SIGNET_REFRESH_TOKENS=off no refresh token is issued', async () => {
  const without = await startService({ env: { SIGNET_REFRESH_TOKENS: 'off' } });
  try {
    const { status, body } = await requestToken(without, await without.createAgent());
    assert.equal(status, 200);
    assert.equal('refresh_token' in body, false);
    await assertReason(without, body.access_token, null);
  } finally {
    await without.stop();
  }
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestService } from '../harness.ts';
import {
  act,
  assertReason,
  assertRefused,
  change,
  createOrganization,
  refresh,
  requestToken,
} from './requests.ts';

let service: TestService;
before(async () => {
  service = await startService({
    env: { SIGNET_ACCESS_TOKEN_SECONDS: '600', SIGNET_REFRESH_TOKEN_SECONDS: '7200' },
  });
});
after(() => service.stop());

test('an access token is active to its last second and expired from `exp` on', async () => {
  const { body } = await requestToken(service, await service.createAgent());
  assert.equal(body.expires_in, 600);
  const { exp, iat } = await service.introspect(body.access_token);
  assert.equal(exp - iat, 600);
  service.clock.advance({ milliseconds: exp * 1000 - service.clock.now() - 1 });
  await assertReason(service, body.access_token, null);
  service.clock.advance({ milliseconds: 1 });
  await assertReason(service, body.access_token, 'expired');
  const me = await service.call('GET', '/api/agents/me', { bearer: body.access_token });
  assertRefused(me, 401, 'invalid_token');
});

test('a successor ends when the first refresh token of its grant would have', async () => {
  const { refreshToken } = await service.tokens(await service.createAgent());
  const { exp } = await service.introspect(refreshToken);
  service.clock.advance({ seconds: 7000 });
  const { body } = await refresh(service, refreshToken);
  assert.equal((await service.introspect(body.refresh_token)).exp, exp);
  service.clock.advance({ seconds: 200 });
  await assertReason(service, body.refresh_token, 'expired');
  assertRefused(await refresh(service, body.refresh_token), 400, 'invalid_grant');
  await assertReason(service, body.access_token, null);
});

test('an organization’s jwt_expiry_secs is the lifetime of its agents’ access tokens', async () => {
  const organizationId = await createOrganization(service, { jwt_expiry_secs: 120 });
  const agent = await service.createAgent({ organization_id: organizationId });
  const { body } = await requestToken(service, agent);
  assert.equal(body.expires_in, 120);
  assert.equal((await refresh(service, body.refresh_token)).body.expires_in, 120);
  const path = `/api/organizations/${organizationId}`;
  await service.call('PUT', path, { admin: true, json: { jwt_expiry_secs: 2_592_000 } });
  assert.equal((await requestToken(service, agent)).body.expires_in, 2_592_000);
  await service.call('PUT', path, { admin: true, json: { jwt_expiry_secs: null } });
  assert.equal((await requestToken(service, agent)).body.expires_in, 600);
});

test('no token of any kind outlives its agent', async () => {
  const agent = await service.createAgent({ expires_in: 300 });
  const { body } = await requestToken(service, agent);
  assert.equal(body.expires_in, 300);
  const { exp } = await service.introspect(body.refresh_token);
  assert.equal(exp, Math.floor((service.clock.now() + 300_000) / 1000));
  service.clock.advance({ seconds: 200 });
  const refreshed = await refresh(service, body.refresh_token);
  assert.equal(refreshed.body.expires_in, 100);
  service.clock.advance({ seconds: 100 });
  await assertReason(service, refreshed.body.access_token, 'expired');
  await assertReason(service, refreshed.body.refresh_token, 'expired');
  assertRefused(await refresh(service, refreshed.body.refresh_token), 400, 'invalid_grant');
});

test('tokens of an agent whose end was moved nearer are inactive from that end on', async () => {
  const agent = await service.createAgent();
  const { accessToken, refreshToken } = await service.tokens(agent);
  await change(service, agent, { expires_in: 60 });
  service.clock.advance({ seconds: 59 });
  await assertReason(service, accessToken, null);
  service.clock.advance({ seconds: 1 });
  await assertReason(service, accessToken, 'agent_inactive');
  await assertReason(service, refreshToken, 'agent_inactive');
});

test('a refresh token ends with the secret that its grant began with, access tokens live on', async () => {
  const agent = await service.createAgent();
  const { accessToken, refreshToken } = await service.tokens(agent);
  await act(service, agent, 'rotate');
  assertRefused(await refresh(service, refreshToken), 400, 'invalid_grant');
  await assertReason(service, refreshToken, 'revoked');
  await assertReason(service, accessToken, null);
});

test('a successor ends with the secret that its grant began with, at the end of the grace period', async () => {
  const agent = await service.createAgent();
  const { refreshToken } = await service.tokens(agent);
  await act(service, agent, 'rotate', { grace_period_secs: 300 });
  const { body } = await refresh(service, refreshToken);
  service.clock.advance({ seconds: 299 });
  await assertReason(service, body.refresh_token, null);
  service.clock.advance({ seconds: 1 });
  await assertReason(service, body.refresh_token, 'revoked');
  assertRefused(await refresh(service, body.refresh_token), 400, 'invalid_grant');
  await assertReason(service, body.access_token, null);
});

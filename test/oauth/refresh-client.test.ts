import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { basic, startService, type TestAgent, type TestService } from '../harness.ts';
import { assertRefused, credentialsOf, refresh } from './requests.ts';

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService();
  agent = await service.createAgent();
});
after(() => service.stop());

test('POST /oauth/refresh 200: right credentials of the own client are welcome', async () => {
  const first = await service.tokens(agent);
  const inBody = await refresh(service, first.refreshToken, credentialsOf(agent));
  assert.equal(inBody.status, 200);
  const byBasic = await service.call('POST', '/oauth/refresh', {
    form: { grant_type: 'refresh_token', refresh_token: inBody.body.refresh_token },
    headers: { authorization: basic(agent.clientId, agent.clientSecret) },
  });
  assert.equal(byBasic.status, 200);
});

test('POST /oauth/refresh 401: wrong credentials are refused, and the token is not used up by them', async () => {
  const { refreshToken } = await service.tokens(agent);
  const wrong = await refresh(service, refreshToken, { ...credentialsOf(agent), client_secret: 'cs_wrong' });
  assertRefused(wrong, 401, 'invalid_client');
  const byBasic = await service.call('POST', '/oauth/refresh', {
    json: { grant_type: 'refresh_token', refresh_token: refreshToken },
    headers: { authorization: basic(agent.clientId, 'cs_wrong') },
  });
  assertRefused(byBasic, 401, 'invalid_client');
  assert.match(byBasic.headers.get('www-authenticate') ?? '', /^Basic /);
  assert.equal((await refresh(service, refreshToken)).status, 200);
});

test('POST /oauth/refresh 400: the credentials of another client are invalid_grant', async () => {
  const { refreshToken } = await service.tokens(agent);
  const other = await service.createAgent();
  assertRefused(await refresh(service, refreshToken, credentialsOf(other)), 400, 'invalid_grant');
  assert.equal((await refresh(service, refreshToken)).status, 200);
});

test('POST /oauth/refresh 400: half a pair of credentials is refused', async () => {
  const { refreshToken } = await service.tokens(agent);
  for (const half of [{ client_id: agent.clientId }, { client_secret: agent.clientSecret }]) {
    assertRefused(await refresh(service, refreshToken, half), 400, 'invalid_request');
  }
  assert.equal((await refresh(service, refreshToken)).status, 200);
});

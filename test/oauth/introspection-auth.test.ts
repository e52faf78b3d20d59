import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { basic, startService, type TestAgent, type TestService } from '../harness.ts';
import { act, assertRefused, credentialsOf } from './requests.ts';

let service: TestService;
let caller: TestAgent;
let token: string;
before(async () => {
  service = await startService({ env: { SIGNET_INTROSPECTION_AUTH: 'required' } });
  caller = await service.createAgent();
  token = (await service.tokens(await service.createAgent())).accessToken;
});
after(() => service.stop());

const introspect = (form: Record<string, string>, headers: Record<string, string> = {}) =>
  service.call('POST', '/oauth/introspect', { form, headers });

test('POST /oauth/introspect 200: where authentication is required, any agent may ask', async () => {
  const inBody = await introspect({ token, ...credentialsOf(caller) });
  const byBasic = await introspect({ token }, { authorization: basic(caller.clientId, caller.clientSecret) });
  for (const { status, body } of [inBody, byBasic]) assert.deepEqual([status, body.active], [200, true]);
});

test('POST /oauth/introspect 401: where authentication is required, nobody else learns anything', async () => {
  const inactive = await service.createAgent();
  await act(service, inactive, 'deactivate');
  const refusals = [
    await introspect({ token }),
    await introspect({ token: 'x' }),
    await introspect({ token, ...credentialsOf(caller), client_secret: 'wrong' }),
    await introspect({ token, ...credentialsOf(inactive) }),
    await introspect({ token }, { authorization: basic(caller.clientId, 'wrong') }),
    await introspect({ token }, { authorization: `Bearer ${token}` }),
  ];
  for (const refusal of refusals) assertRefused(refusal, 401, 'invalid_client');
});

test('POST /oauth/introspect 400: half a pair of credentials is refused', async () => {
  assertRefused(await introspect({ token, client_id: caller.clientId }), 400, 'invalid_request');
});

test('the metadata does not offer introspection without authentication where it is required', async () => {
  const { body } = await service.call('GET', '/.well-known/oauth-authorization-server');
  assert.deepEqual(body.introspection_endpoint_auth_methods_supported, [
    'client_secret_basic',
    'client_secret_post',
  ]);
});

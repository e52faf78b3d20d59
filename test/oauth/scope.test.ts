import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestAgent, type TestService } from '../harness.ts';
import { assertRefused, requestToken } from './requests.ts';

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService({ env: { SIGNET_SCOPES: 'read write admin invoices:read' } });
  agent = await service.createAgent({ scopes: ['write', 'read', 'invoices:read'] });
});
after(() => service.stop());

test('POST /oauth/token 200: without scope the token holds all scopes of its agent', async () => {
  const { body } = await requestToken(service, agent);
  assert.equal(body.scope, 'write read invoices:read');
  assert.equal((await service.introspect(body.access_token)).scope, 'write read invoices:read');
});

test('POST /oauth/token 200: scopes come in the order of the request, repetitions dropped', async () => {
  for (const [asked, granted] of [
    ['read', 'read'],
    ['read write', 'read write'],
    ['invoices:read read', 'invoices:read read'],
    ['read read write read', 'read write'],
  ] as const) {
    const { body } = await requestToken(service, agent, { scope: asked });
    assert.equal(body.scope, granted);
    assert.equal((await service.introspect(body.access_token)).scope, granted);
  }
});

test('POST /oauth/token 400: a scope beyond the agent or unknown is invalid_scope, never dropped', async () => {
  for (const scope of ['admin', 'read admin', 'nobody', 'READ', 'constructor', '*', 'read,write']) {
    assertRefused(await requestToken(service, agent, { scope }), 400, 'invalid_scope');
  }
});

test('POST /oauth/token 400: a malformed scope is invalid_scope', async () => {
  for (const scope of [' ', ' read', 'read ', 'read  write', 'read\twrite', 'r"', 'r\\', 'é', 'read\n']) {
    assertRefused(await requestToken(service, agent, { scope }), 400, 'invalid_scope');
  }
});

test('POST /oauth/token: a refused scope tells a stranger nothing', async () => {
  const stranger = { ...agent, clientSecret: 'wrong' };
  assertRefused(await requestToken(service, stranger, { scope: 'admin' }), 401, 'invalid_client');
});

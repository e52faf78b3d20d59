import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import express from 'express';
import { auth, requiredScopes } from 'express-oauth2-jwt-bearer';
import { createVerifier } from 'fast-jwt';
import { exportSPKI, importJWK } from 'jose';
import { startService, type TestAgent, type TestService } from '../harness.ts';

let service: TestService;
let agent: TestAgent;
let api: Server;
before(async () => {
  service = await startService();
  agent = await service.createAgent();
  api = await startApi();
});
after(async () => {
  api.close();
  await service.stop();
});

async function startApi(): Promise<Server> {
  const app = express();
  app.use(auth({ issuerBaseURL: service.url, audience: service.url, strict: true }));
  app.get('/invoices', requiredScopes('read'), (request, response) => {
    response.json({ caller: request.auth?.payload.sub });
  });
  app.post('/invoices', requiredScopes('write'), (_request, response) => {
    response.status(201).end();
  });
  app.use(((error, _request, response, _next) => {
    response.status(error.status ?? 500).json({ code: error.code });
  }) satisfies express.ErrorRequestHandler);
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const callApi = (method: string, token: string | null) =>
  fetch(`http://127.0.0.1:${(api.address() as AddressInfo).port}/invoices`, {
    method,
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
  });

test('express-oauth2-jwt-bearer finds the keys by the issuer and lets the agent in', async () => {
  const { accessToken } = await service.tokens(agent);
  const response = await callApi('GET', accessToken);
  assert.deepEqual([response.status, await response.json()], [200, { caller: agent.id }]);
  assert.equal((await callApi('POST', accessToken)).status, 201);
});

test('express-oauth2-jwt-bearer holds a narrowed token to its scope', async () => {
  const { accessToken } = await service.tokens(agent, 'read');
  assert.equal((await callApi('GET', accessToken)).status, 200);
  const refused = await callApi('POST', accessToken);
  assert.deepEqual([refused.status, await refused.json()], [403, { code: 'insufficient_scope' }]);
});

test('express-oauth2-jwt-bearer refuses tampered tokens, refresh tokens and strangers', async () => {
  const { accessToken, refreshToken } = await service.tokens(agent);
  const tampered = `${accessToken.slice(0, -20)}AAAA${accessToken.slice(-16)}`;
  for (const token of [tampered, refreshToken, null]) assert.equal((await callApi('GET', token)).status, 401);
});

const verifyFast = createVerifier({
  key: async ({ header }: { header: Record<string, string> }) => {
    const { body } = await service.call('GET', '/.well-known/jwks.json');
    const jwk = body.keys.find(({ kid }: { kid: string }) => kid === header['kid']);
    return exportSPKI((await importJWK(jwk, 'RS256', { extractable: true })) as CryptoKey);
  },
  algorithms: ['RS256'],
  checkTyp: 'at+jwt',
  requiredClaims: ['iss', 'aud', 'sub', 'client_id', 'exp', 'iat', 'jti'],
});

test('fast-jwt verifies the token by the published key, before and after a rotation', async () => {
  const before = (await service.tokens(agent)).accessToken;
  await service.call('POST', '/api/keys/rotate', { admin: true });
  for (const token of [before, (await service.tokens(agent)).accessToken]) {
    const claims = await verifyFast(token);
    assert.deepEqual([claims.sub, claims.iss], [agent.id, service.url]);
  }
});

test('fast-jwt refuses what was tampered with', async () => {
  const { accessToken } = await service.tokens(agent);
  const [header, , signature] = accessToken.split('.');
  const payload = Buffer.from(JSON.stringify({ sub: 'agent_other' })).toString('base64url');
  await assert.rejects(verifyFast(`${header}.${payload}.${signature}`), {
    code: 'FAST_JWT_INVALID_SIGNATURE',
  });
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose';
import { startService, type TestAgent, type TestService } from '../harness.ts';

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService();
  agent = await service.createAgent();
});
after(() => service.stop());

/** A resource server as the README shows it, which counts how often it asks for the keys. */
function resourceServer() {
  let fetches = 0;
  const keys = createRemoteJWKSet(new URL(`${service.url}/.well-known/jwks.json`), {
    cooldownDuration: 0,
    [customFetch]: (url, options) => {
      fetches += 1;
      return fetch(url, options);
    },
  });
  const options = { issuer: service.url, audience: service.url, typ: 'at+jwt' };
  return {
    verify: async (token: string) => (await jwtVerify(token, keys, options)).payload,
    fetches: () => fetches,
  };
}

const rotate = () => service.call('POST', '/api/keys/rotate', { admin: true });

test('jose verifies tokens by the remote JWKS, and keeps the keys', async () => {
  const server = resourceServer();
  for (let round = 0; round < 3; round++) {
    const { accessToken } = await service.tokens(agent);
    assert.equal((await server.verify(accessToken)).sub, agent.id);
  }
  assert.equal(server.fetches(), 1);
});

test('jose verifies across rotations: the next key it knows already, the one after it fetches', async () => {
  const server = resourceServer();
  const first = (await service.tokens(agent)).accessToken;
  await server.verify(first);
  await rotate();
  await server.verify((await service.tokens(agent)).accessToken);
  assert.equal(server.fetches(), 1);
  await rotate();
  await server.verify((await service.tokens(agent)).accessToken);
  assert.equal(server.fetches(), 2);
  await server.verify(first);
  assert.equal(server.fetches(), 2);
});

test('jose refuses a token of another service', async () => {
  const other = await startService();
  try {
    const { accessToken } = await other.tokens(await other.createAgent());
    await assert.rejects(resourceServer().verify(accessToken), errors.JWKSNoMatchingKey);
  } finally {
    await other.stop();
  }
});

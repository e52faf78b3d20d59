import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createLocalJWKSet, type JWTVerifyOptions, jwtVerify } from 'jose';
import { startService, type TestAgent, type TestService } from '../harness.ts';
import { createOrganization, refresh, requestToken } from './requests.ts';

const AUDIENCE = 'https://api.test';

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService({ env: { SIGNET_AUDIENCE: AUDIENCE } });
  agent = await service.createAgent({ scopes: ['read', 'write'] });
});
after(() => service.stop());

async function verify(token: string, options: JWTVerifyOptions = {}) {
  const keys = createLocalJWKSet((await service.call('GET', '/.well-known/jwks.json')).body);
  return jwtVerify(token, keys, {
    issuer: service.url,
    audience: AUDIENCE,
    typ: 'at+jwt',
    algorithms: ['RS256'],
    currentDate: new Date(service.clock.now()),
    ...options,
  });
}

test('an access token carries the claims of RFC 9068, and jose verifies them', async () => {
  const { body } = await requestToken(service, agent, { scope: 'read' });
  const { payload, protectedHeader } = await verify(body.access_token, {
    requiredClaims: ['iss', 'exp', 'aud', 'sub', 'client_id', 'iat', 'jti'],
  });
  const issuedAt = Math.floor(service.clock.now() / 1000);
  const { jti, ...claims } = payload;
  assert.match(String(jti), /\w/);
  assert.deepEqual(claims, {
    iss: service.url,
    aud: AUDIENCE,
    sub: agent.id,
    client_id: agent.clientId,
    iat: issuedAt,
    exp: issuedAt + 3600,
    scope: 'read',
  });
  const { kid, ...header } = protectedHeader;
  assert.deepEqual(header, { alg: 'RS256', typ: 'at+jwt' });
  assert.match(String(kid), /^[\w-]{43}$/);
});

test('org_id and team_id are there where they apply', async () => {
  const organizationId = await createOrganization(service);
  const team = await service.call('POST', `/api/organizations/${organizationId}/teams`, {
    admin: true,
    json: { name: 'Billing', description: 'Invoices' },
  });
  const ofOrganization = await service.createAgent({ organization_id: organizationId });
  const ofTeam = await service.createAgent({ organization_id: organizationId, team_id: team.body.id });
  for (const [member, expected] of [
    [ofOrganization, { org_id: organizationId, team_id: undefined }],
    [ofTeam, { org_id: organizationId, team_id: team.body.id }],
    [agent, { org_id: undefined, team_id: undefined }],
  ] as const) {
    const { accessToken, refreshToken } = await service.tokens(member);
    const { body } = await refresh(service, refreshToken);
    for (const token of [accessToken, body.access_token]) {
      const { org_id, team_id } = (await verify(token)).payload;
      assert.deepEqual({ org_id, team_id }, expected);
    }
  }
});

test('no two tokens share a jti, refreshed ones included', async () => {
  const sets = await Promise.all(Array.from({ length: 20 }, () => service.tokens(agent)));
  const refreshed = await Promise.all(sets.map(({ refreshToken }) => refresh(service, refreshToken)));
  const tokens = [...sets.map((set) => set.accessToken), ...refreshed.map(({ body }) => body.access_token)];
  const ids = await Promise.all(tokens.map(async (token) => (await verify(token)).payload.jti));
  assert.equal(new Set(ids).size, 40);
});

test('introspection and the token itself say the same', async () => {
  const { accessToken } = await service.tokens(agent);
  const { payload } = await verify(accessToken);
  const { active, token_type, ...introspected } = await service.introspect(accessToken);
  assert.deepEqual([active, token_type], [true, 'Bearer']);
  assert.deepEqual(introspected, payload);
});

test('a resource server refuses the token for another audience, issuer or time', async () => {
  const { accessToken } = await service.tokens(agent);
  const wrong: JWTVerifyOptions[] = [
    { audience: 'https://other.test' },
    { issuer: 'https://other.test' },
    { typ: 'JWT' },
    { currentDate: new Date(service.clock.now() + 3_601_000) },
  ];
  for (const options of wrong) await assert.rejects(verify(accessToken, options));
});

import { createPublicKey } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type Answer, startService, type TestAgent, type TestService } from '../harness.ts';
import { assertReason, assertRefused } from '../oauth/requests.ts';
import { assertInvalid, attackerJwk, encode, signHs256, signRs256, takeApart } from './forge.ts';

let service: TestService;
let agent: TestAgent;
let genuine: string;
let refreshToken: string;
let jwk: Record<string, string>;
before(async () => {
  service = await startService();
  agent = await service.createAgent();
  ({ accessToken: genuine, refreshToken } = await service.tokens(agent));
  const { kid } = takeApart(genuine).header;
  const { body } = await service.call('GET', '/.well-known/jwks.json');
  jwk = (body as Answer['body']).keys.find((key: { kid: string }) => key.kid === kid);
});
after(async () => {
  await assertReason(service, genuine, null);
  await service.stop();
});

const assertForged = (forgeries: Record<string, string>) => assertInvalid(service, forgeries);

test('a token without a signature is invalid, however `none` is spelled', async () => {
  const { header, claims, segments } = takeApart(genuine);
  const forgeries: Record<string, string> = {};
  for (const alg of ['none', 'None', 'NONE', 'nOnE', '']) {
    forgeries[`${alg} unsigned`] = `${encode({ ...header, alg })}.${encode(claims)}.`;
    forgeries[`${alg} with our signature`] =
      `${encode({ ...header, alg })}.${segments.payload}.${segments.signature}`;
  }
  await assertForged(forgeries);
});

test('a token signed by HMAC with a public key of ours is invalid', async () => {
  const { header, claims } = takeApart(genuine);
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
  const { kty, n, e } = jwk;
  const secrets = {
    'PEM of the SPKI': publicKey.export({ type: 'spki', format: 'pem' }),
    'PEM without its last newline': publicKey.export({ type: 'spki', format: 'pem' }).toString().trim(),
    'PEM of PKCS #1': publicKey.export({ type: 'pkcs1', format: 'pem' }),
    'DER of the SPKI': publicKey.export({ type: 'spki', format: 'der' }),
    'JWK as it is published': JSON.stringify(jwk),
    'JWK, its required members': JSON.stringify({ e, kty, n }),
    modulus: n ?? '',
    'nothing at all': '',
  };
  for (const [name, secret] of Object.entries(secrets)) {
    await assertForged({ [name]: signHs256({ ...header, alg: 'HS256' }, claims, secret) });
  }
});

test('a token of a foreign key is invalid, whatever its header claims', async () => {
  const { header, claims } = takeApart(genuine);
  const foreign = { alg: 'RS256', typ: 'at+jwt' };
  await assertForged({
    'our kid': signRs256(header, claims),
    'an unknown kid': signRs256({ ...foreign, kid: 'unknown' }, claims),
    'a kid that is a path': signRs256({ ...foreign, kid: '../../dev/null' }, claims),
    'a kid that is SQL': signRs256({ ...foreign, kid: "' or 1=1 --" }, claims),
    'a kid that is a prototype name': signRs256({ ...foreign, kid: '__proto__' }, claims),
    'no kid': signRs256(foreign, claims),
    jwk: signRs256({ ...header, jwk: attackerJwk }, claims),
    jku: signRs256({ ...header, jku: `${service.url}/attacker.json` }, claims),
    x5u: signRs256({ ...header, x5u: `${service.url}/attacker.pem` }, claims),
    x5c: signRs256({ ...header, x5c: ['MIIB'] }, claims),
  });
});

test('a changed header beside our own payload and signature is invalid', async () => {
  const { header, segments } = takeApart(genuine);
  const rest = `${segments.payload}.${segments.signature}`;
  const headers = {
    jku: { ...header, jku: `${service.url}/.well-known/jwks.json` },
    x5u: { ...header, x5u: service.url },
    jwk: { ...header, jwk },
    crit: { ...header, crit: ['exp'] },
    b64: { ...header, b64: false, crit: ['b64'] },
    typ: { ...header, typ: 'JWT' },
    RS512: { ...header, alg: 'RS512' },
    PS256: { ...header, alg: 'PS256' },
    'another order': Object.fromEntries(Object.entries(header).reverse()),
  };
  for (const [name, changed] of Object.entries(headers)) {
    await assertForged({ [name]: `${encode(changed)}.${rest}` });
  }
});

test('tampered claims are invalid', async () => {
  const { claims, segments } = takeApart(genuine);
  const other = await service.createAgent();
  const changes = {
    scope: { scope: 'read write admin' },
    sub: { sub: other.id, client_id: other.clientId },
    exp: { exp: Number(claims['exp']) + 3600 },
    jti: { jti: 'x-0-0' },
    nothing: {},
  };
  for (const [name, change] of Object.entries(changes)) {
    const payload =
      name === 'nothing' ? encode({ extra: true, ...claims }) : encode({ ...claims, ...change });
    await assertForged({ [name]: `${segments.header}.${payload}.${segments.signature}` });
  }
});

test('GET /api/agents/me 401: a refresh token is no access token', async () => {
  const me = await service.call('GET', '/api/agents/me', { bearer: refreshToken });
  assertRefused(me, 401, 'invalid_token');
  await assertReason(service, refreshToken, null);
});

test('GET /api/agents/me 401: a client secret, Basic credentials and nothing are no access token', async () => {
  for (const authorization of [`Bearer ${agent.clientSecret}`, `Basic ${genuine}`, genuine, 'Bearer', '']) {
    const me = await service.call('GET', '/api/agents/me', { headers: { authorization } });
    assertRefused(me, 401, 'invalid_token');
  }
  assertRefused(await service.call('GET', '/api/agents/me'), 401, 'invalid_token');
});

test('GET /api/agents/me 401: a token in the query string is not looked at', async () => {
  const path = `/api/agents/me?access_token=${genuine}`;
  assertRefused(await service.call('GET', path), 401, 'invalid_token');
});

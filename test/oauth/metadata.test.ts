import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestAgent, type TestService } from '../harness.ts';
import { clientCredentials } from './requests.ts';

const PATHS = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService({ env: { SIGNET_SCOPES: 'read write admin invoices:read' } });
  agent = await service.createAgent();
});
after(() => service.stop());

for (const path of PATHS) {
  test(`GET ${path} 200: what RFC 8414 requires, by the issuer's own addresses`, async () => {
    const { status, body, headers } = await service.call('GET', path);
    assert.equal(status, 200);
    assert.equal(body.issuer, service.url);
    assert.deepEqual(body.response_types_supported, []);
    assert.deepEqual(body.scopes_supported, ['read', 'write', 'admin', 'invoices:read']);
    assert.deepEqual(body.grant_types_supported, ['client_credentials', 'refresh_token']);
    for (const name of Object.keys(body).filter((key) => /_(endpoint|uri)$/.test(key))) {
      assert.ok(body[name].startsWith(`${service.url}/`), name);
    }
    assert.match(headers.get('cache-control') ?? '', /^public, max-age=\d+$/);
    assert.equal(headers.get('access-control-allow-origin'), '*');
  });
}

test('GET /.well-known/…: both paths say the same', async () => {
  const [one, other] = await Promise.all(PATHS.map((path) => service.call('GET', path)));
  assert.deepEqual(one?.body, other?.body);
});

test('every endpoint that the metadata lists answers', async () => {
  const { body: metadata } = await service.call('GET', PATHS[0] ?? '');
  const path = (address: string) => new URL(address).pathname;
  const token = await service.call('POST', path(metadata.token_endpoint), { json: clientCredentials(agent) });
  assert.equal(token.status, 200);
  const form = { token: token.body.access_token };
  for (const endpoint of [metadata.introspection_endpoint, metadata.revocation_endpoint]) {
    assert.equal((await service.call('POST', path(endpoint), { form })).status, 200);
  }
  assert.equal((await service.call('GET', path(metadata.jwks_uri))).status, 200);
  const documentation = await fetch(metadata.service_documentation);
  assert.equal(documentation.status, 200);
});

test('the metadata names the public address where there is one', async () => {
  const issuer = 'https://id.example.test';
  const renamed = await startService({ env: { SIGNET_PUBLIC_URL: issuer } });
  try {
    const { body } = await renamed.call('GET', PATHS[0] ?? '');
    assert.deepEqual([body.issuer, body.token_endpoint], [issuer, `${issuer}/oauth/token`]);
    const { accessToken } = await renamed.tokens(await renamed.createAgent());
    const { iss, aud } = await renamed.introspect(accessToken);
    assert.deepEqual([iss, aud], [issuer, issuer]);
  } finally {
    await renamed.stop();
  }
});

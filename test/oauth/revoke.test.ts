import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestAgent, type TestService } from '../harness.ts';
import { assertReason, assertRefused, refresh, revoke } from './requests.ts';

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService();
  agent = await service.createAgent();
});
after(() => service.stop());

for (const kind of ['json', 'form'] as const) {
  test(`POST /oauth/revoke 200: an access token in a ${kind} body is revoked at once, everywhere`, async () => {
    const { accessToken, refreshToken } = await service.tokens(agent);
    const me = () => service.call('GET', '/api/agents/me', { bearer: accessToken });
    assert.equal((await me()).status, 200);
    await assertReason(service, accessToken, null);
    const answer = await service.call('POST', '/oauth/revoke', { [kind]: { token: accessToken } });
    assert.deepEqual([answer.status, answer.body], [200, { status: 'revoked' }]);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    await assertReason(service, accessToken, 'revoked');
    assertRefused(await me(), 401, 'invalid_token');
    assert.match((await me()).headers.get('www-authenticate') ?? '', /^Bearer .*error="invalid_token"/);
    assert.equal((await refresh(service, refreshToken)).status, 200);
  });
}

test('POST /oauth/revoke 200: a revoked access token takes no other token of its family with it', async () => {
  const first = await service.tokens(agent);
  const { body: second } = await refresh(service, first.refreshToken);
  await revoke(service, first.accessToken);
  await assertReason(service, first.accessToken, 'revoked');
  await assertReason(service, second.access_token, null);
  await assertReason(service, second.refresh_token, null);
});

test('POST /oauth/revoke 200: a refresh token ends its whole family, whichever of its line is sent', async () => {
  for (const pick of [0, 1]) {
    const first = await service.tokens(agent);
    const { body: second } = await refresh(service, first.refreshToken);
    const refreshTokens = [first.refreshToken, second.refresh_token];
    assert.deepEqual((await revoke(service, refreshTokens[pick] ?? '')).body, { status: 'revoked' });
    for (const token of [first.accessToken, second.access_token, ...refreshTokens]) {
      await assertReason(service, token, 'revoked');
    }
    assertRefused(await refresh(service, second.refresh_token), 400, 'invalid_grant');
  }
});

test('POST /oauth/revoke 200: a wrong or unknown token_type_hint does not keep a token alive', async () => {
  for (const hint of ['refresh_token', 'access_token', 'id_token', '']) {
    const { accessToken, refreshToken } = await service.tokens(agent);
    for (const token of [accessToken, refreshToken]) {
      const form = { token, token_type_hint: hint };
      assert.equal((await service.call('POST', '/oauth/revoke', { form })).status, 200);
      await assertReason(service, token, 'revoked');
    }
  }
});

test('POST /oauth/revoke 200: unknown, broken and expired tokens are answered alike', async () => {
  const { accessToken, refreshToken } = await service.tokens(agent);
  service.clock.advance({ hours: 2 });
  for (const token of ['x', 'a.b.c', 'rt_1_x', `${refreshToken}0`, agent.clientSecret, accessToken]) {
    const { status, body } = await revoke(service, token);
    assert.deepEqual([status, body], [200, { status: 'revoked' }]);
  }
  assert.equal((await refresh(service, refreshToken)).status, 200);
});

test('POST /oauth/revoke 200: revoking twice, and many times at once, is revoking once', async () => {
  const { accessToken, refreshToken } = await service.tokens(agent);
  for (const token of [accessToken, refreshToken]) {
    const answers = await Promise.all(Array.from({ length: 10 }, () => revoke(service, token)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    await assertReason(service, token, 'revoked');
  }
});

test('POST /oauth/revoke: what was revoked stays revoked after a restart', async () => {
  const [one, other] = [await service.tokens(agent), await service.tokens(agent)];
  await revoke(service, one.accessToken);
  await revoke(service, other.refreshToken);
  await service.restart();
  await assertReason(service, one.accessToken, 'revoked');
  await assertReason(service, one.refreshToken, null);
  await assertReason(service, other.accessToken, 'revoked');
  await assertReason(service, other.refreshToken, 'revoked');
});

test('POST /oauth/revoke 400: a missing, empty or repeated token is refused', async () => {
  assertRefused(await service.call('POST', '/oauth/revoke', { json: {} }), 400, 'invalid_request');
  assertRefused(await service.call('POST', '/oauth/revoke', { form: { token: '' } }), 400, 'invalid_request');
  const raw = { body: 'token=x&token=y', contentType: 'application/x-www-form-urlencoded' };
  assertRefused(await service.call('POST', '/oauth/revoke', { raw }), 400, 'invalid_request');
});

test('POST /oauth/revoke 400: a token in the query string is refused and stays alive', async () => {
  const { accessToken } = await service.tokens(agent);
  const answer = await service.call('POST', `/oauth/revoke?token=${accessToken}`, { form: { token: 'x' } });
  assertRefused(answer, 400, 'invalid_request');
  await assertReason(service, accessToken, null);
});

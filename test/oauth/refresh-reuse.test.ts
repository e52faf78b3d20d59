import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestAgent, type TestService } from '../harness.ts';
import { assertReason, assertRefused, countsOf, refresh } from './requests.ts';

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService();
  agent = await service.createAgent();
});
after(() => service.stop());

test('POST /oauth/refresh 400: a refresh token works once, and its reuse ends the whole family', async () => {
  const first = await service.tokens(agent);
  const { body: second } = await refresh(service, first.refreshToken);
  const { body: third } = await refresh(service, second.refresh_token);
  assertRefused(await refresh(service, first.refreshToken), 400, 'invalid_grant');
  const family = [
    ...[first.accessToken, second.access_token, third.access_token],
    ...[first.refreshToken, second.refresh_token, third.refresh_token],
  ];
  for (const token of family) await assertReason(service, token, 'revoked');
  assertRefused(await refresh(service, third.refresh_token), 400, 'invalid_grant');
  const me = await service.call('GET', '/api/agents/me', { bearer: third.access_token });
  assertRefused(me, 401, 'invalid_token');
});

test('POST /oauth/refresh 400: reuse ends no other family of the same agent', async () => {
  const [one, other] = [await service.tokens(agent), await service.tokens(agent)];
  await refresh(service, one.refreshToken);
  assertRefused(await refresh(service, one.refreshToken), 400, 'invalid_grant');
  await assertReason(service, one.accessToken, 'revoked');
  await assertReason(service, other.accessToken, null);
  assert.equal((await refresh(service, other.refreshToken)).status, 200);
});

test('POST /oauth/refresh: of simultaneous uses exactly one wins, and the family ends', async () => {
  for (let round = 0; round < 25; round++) {
    const own = await service.createAgent();
    const { refreshToken, accessToken } = await service.tokens(own);
    const answers = await Promise.all(
      Array.from({ length: 2 + (round % 4) }, () => refresh(service, refreshToken)),
    );
    const won = answers.filter(({ status }) => status === 200);
    assert.equal(won.length, 1, `round ${round}`);
    for (const lost of answers.filter((answer) => answer !== won[0]))
      assertRefused(lost, 400, 'invalid_grant');
    for (const token of [accessToken, won[0]?.body.access_token, won[0]?.body.refresh_token]) {
      await assertReason(service, token, 'revoked');
    }
    assert.deepEqual(await countsOf(service, own), { tokens: 2, refreshes: 1 });
  }
});

test('POST /oauth/refresh: simultaneous uses of different tokens all win', async () => {
  const sets = await Promise.all(Array.from({ length: 40 }, () => service.tokens(agent)));
  const answers = await Promise.all(sets.map(({ refreshToken }) => refresh(service, refreshToken)));
  for (const { status, body } of answers) {
    assert.equal(status, 200);
    await assertReason(service, body.access_token, null);
  }
});

test('POST /oauth/refresh: a used token stays used, and its family ended, after a restart', async () => {
  const [used, reused] = [await service.tokens(agent), await service.tokens(agent)];
  const successor = (await refresh(service, used.refreshToken)).body;
  await refresh(service, reused.refreshToken);
  await refresh(service, reused.refreshToken);
  await service.restart();
  await assertReason(service, successor.access_token, null);
  await assertReason(service, used.refreshToken, 'revoked');
  await assertReason(service, reused.accessToken, 'revoked');
  assertRefused(await refresh(service, used.refreshToken), 400, 'invalid_grant');
  await assertReason(service, successor.access_token, 'revoked');
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestAgent, type TestService } from '../harness.ts';

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService({ env: { SIGNET_TOKEN_RATE: '3' } });
  agent = await service.createAgent();
});
after(() => service.stop());

const ask = ({ clientId, clientSecret }: TestAgent) =>
  service.call('POST', '/oauth/token', {
    json: { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret },
  });

const refresh = (token: string) =>
  service.call('POST', '/oauth/refresh', { json: { grant_type: 'refresh_token', refresh_token: token } });

test('SIGNET_TOKEN_RATE: beyond the rate 429 says how long to wait, and after that there is one token', async () => {
  for (let count = 0; count < 3; count += 1) assert.equal((await ask(agent)).status, 200);
  const { status, body, headers } = await ask(agent);
  assert.deepEqual([status, body.error, headers.get('retry-after')], [429, 'rate_limited', '20']);
  service.clock.advance({ seconds: 19 });
  assert.equal((await ask(agent)).headers.get('retry-after'), '1');
  service.clock.advance({ seconds: 1 });
  assert.deepEqual([(await ask(agent)).status, (await ask(agent)).status], [200, 429]);
  const read = await service.call('GET', `/api/agents/${agent.id}`, { admin: true });
  assert.equal(read.body.agent.token_count, 4);
});

test('SIGNET_TOKEN_RATE: refreshes count too, and a refused one does not use its token up', async () => {
  const own = await service.createAgent();
  let { refreshToken } = await service.tokens(own);
  for (let count = 0; count < 2; count += 1) refreshToken = (await refresh(refreshToken)).body.refresh_token;
  assert.equal((await refresh(refreshToken)).status, 429);
  service.clock.advance({ minutes: 1 });
  assert.equal((await refresh(refreshToken)).status, 200);
});

test('SIGNET_TOKEN_RATE: another agent is not touched, nor can a stranger use up an agent’s rate', async () => {
  const other = await service.createAgent();
  for (let count = 0; count < 6; count += 1) {
    assert.equal((await ask({ ...other, clientSecret: 'wrong' })).status, 401);
  }
  for (let count = 0; count < 4; count += 1) await ask(agent);
  assert.equal((await ask(agent)).status, 429);
  assert.equal((await ask(other)).status, 200);
});

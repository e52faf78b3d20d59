import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startService, type TestService } from '../harness.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const metrics = async (): Promise<string> => (await service.call('GET', '/metrics')).body;

/** The value of a series, its labels in any order; 0 where it is not there. */
async function sample(name: string, labels: Record<string, string> = {}): Promise<number> {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const line = (await metrics())
    .split('\n')
    .filter((candidate) => candidate.startsWith(`${name}{`) || candidate.startsWith(`${name} `))
    .find((candidate) => wanted.every((label) => candidate.includes(label)));
  return Number(line?.split(' ').at(-1) ?? 0);
}

test('GET /health and /readyz 200: the database answers', async () => {
  for (const path of ['/health', '/readyz']) {
    const { status, body } = await service.call('GET', path);
    assert.equal(status, 200);
    assert.deepEqual([body.status, body.database], ['ok', 'ok']);
    assert.match(body.version, /^\d+\.\d+\.\d+/);
  }
});

test('GET /livez 200: the process runs, whatever the database does', async () => {
  assert.deepEqual((await service.call('GET', '/livez')).body, { status: 'ok' });
});

test('GET /metrics: requests are counted by method, route and status, not by path', async () => {
  const name = 'signet_http_request_duration_seconds_count';
  const route = { method: 'GET', route: '/api/agents/:id', status: '404' };
  const before = await sample(name, route);
  for (const id of ['agent_a', 'agent_b']) await service.call('GET', `/api/agents/${id}`, { admin: true });
  assert.equal(await sample(name, route), before + 2);
  await service.call('GET', '/nowhere');
  assert.equal(await sample(name, { route: 'none', status: '404' }), 1);
});

test('GET /metrics: tokens, refusals and introspections are counted by kind, with their latencies', async () => {
  const agent = await service.createAgent();
  const { accessToken, refreshToken } = await service.tokens(agent);
  const json = { grant_type: 'refresh_token', refresh_token: refreshToken };
  await service.call('POST', '/oauth/refresh', { json });
  await service.call('POST', '/oauth/refresh', { json });
  await service.introspect('nonsense');
  await service.introspect(accessToken);
  for (const grant_type of ['client_credentials', 'refresh_token']) {
    assert.equal(await sample('signet_tokens_issued_total', { grant_type }), 1);
    assert.equal(await sample('signet_token_duration_seconds_count', { grant_type }), 1);
  }
  const refused = await sample('signet_token_requests_refused_total', { grant_type: 'refresh_token' });
  assert.equal(refused, 1);
  assert.equal(await sample('signet_introspections_total', { active: 'false' }), 2);
  assert.equal(await sample('signet_introspection_duration_seconds_count'), 2);
});

test('GET /metrics: commits are counted with the transactions that shared them', async () => {
  const before = await sample('signet_store_commit_transactions_sum');
  const agents = await Promise.all(Array.from({ length: 5 }, () => service.createAgent()));
  assert.equal(agents.length, 5);
  assert.equal(await sample('signet_store_commit_transactions_sum'), before + 5);
  const [commits, timed] = [
    await sample('signet_store_commit_transactions_count'),
    await sample('signet_store_commit_duration_seconds_count'),
  ];
  assert.ok(commits > 0);
  assert.equal(commits, timed);
});

test('GET /metrics: the lag of the event loop and the memory of the process are there', async () => {
  assert.match(await metrics(), /^nodejs_eventloop_lag_p99_seconds \d/m);
  assert.ok((await sample('process_resident_memory_bytes')) > 1_000_000);
});

test('GET /health and /readyz 503, /livez 200: the database does not answer', async () => {
  await service.query('alter table service_metadata rename to away');
  const answers = await Promise.all(
    ['/health', '/readyz', '/livez'].map((path) => service.call('GET', path)),
  );
  await service.query('alter table away rename to service_metadata');
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [503, 503, 200],
  );
  assert.equal(answers[0]?.headers.get('retry-after'), '1');
  assert.equal((await service.call('GET', '/health')).status, 200);
});

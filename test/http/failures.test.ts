import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { currentDatabase } from '../databases.ts';
import { startService, type TestService } from '../harness.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const create = (name: string) => service.call('POST', '/api/agents', { admin: true, json: { name } });

/** What tells of the inside: places in the code, statements, the store’s own words. */
const INSIDE =
  /\.ts\b|node_modules|node:|\bat .+:\d+|select .+ from|insert into|no such table|does not exist|sqlite|postgres|kysely/i;

test('503: while another program holds the database, writes say when to try again, and reads go on', async (t) => {
  if (currentDatabase() !== 'SQLite') return t.skip('no program can hold a whole PostgreSQL database');
  const other = new DatabaseSync(join(service.dataDir, 'signet.db'));
  other.exec('begin exclusive');
  const refused = await create('locked out');
  const read = await service.call('GET', '/api/agents', { admin: true });
  other.exec('rollback');
  other.close();
  assert.deepEqual([refused.status, refused.body.error], [503, 'temporarily_unavailable']);
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.doesNotMatch(JSON.stringify(refused.body), INSIDE);
  assert.deepEqual([read.status, read.body.agents], [200, []]);
  assert.equal((await create('let in')).status, 201);
});

test('500: an accident inside tells the caller nothing, and the log its cause and the request’s id', async () => {
  await service.query('alter table webhooks rename to webhooks_away');
  const { status, body, headers } = await service.call('GET', '/api/webhooks', { admin: true });
  await service.query('alter table webhooks_away rename to webhooks');
  assert.deepEqual([status, body.error], [500, 'server_error']);
  assert.equal(body.error_description, 'Something went wrong inside the service.');
  const id = headers.get('x-request-id') ?? '';
  const line = service.logLines.find((candidate) => candidate.includes(id) && candidate.includes('failed'));
  assert.match(line ?? '', /no such table: webhooks|relation .+webhooks.+ does not exist/);
  assert.equal((await service.call('GET', '/api/webhooks', { admin: true })).status, 200);
});

test('no log line of a failure holds a stack trace or a statement', () => {
  const log = service.logLines.join('\n');
  assert.match(log, /"level":50/);
  assert.doesNotMatch(log, /"stack"|node_modules|\\n +at |select .+ from|insert into/i);
});

test('500: a change that fails half-way leaves nothing behind', async () => {
  await service.query('alter table client_secrets rename to client_secrets_away');
  const { status } = await create('half made');
  await service.query('alter table client_secrets_away rename to client_secrets');
  assert.equal(status, 500);
  const { body } = await service.call('GET', '/api/agents?q=half', { admin: true });
  assert.deepEqual(body.agents, []);
});

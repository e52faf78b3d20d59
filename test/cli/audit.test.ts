import assert from 'node:assert/strict';
import { userInfo } from 'node:os';
import { after, before, test } from 'node:test';
import { startService, type TestService } from '../harness.ts';
import { envBeside, signet } from './signet.ts';

let service: TestService;
before(async () => {
  service = await startService();
  await service.createAgent();
});
after(() => service.stop());

const run = (...given: string[]) => signet(envBeside(service), ...given);

async function runJson(...given: string[]) {
  const { code, stdout, stderr } = await run(...given, '--json');
  assert.equal(stderr, '');
  return { code, document: JSON.parse(stdout) };
}

const auditLog = async () => (await service.call('GET', '/api/audit-log', { admin: true })).body;

test('what the command line changes is in the log, with the name of who was at the machine', async () => {
  const email = 'second@signet.test';
  for (const given of [
    ['admin', 'add', email, '--generate'],
    ['admin', 'password', email, '--generate'],
    ['keys', 'rotate'],
    ['admin', 'remove', email],
  ]) {
    assert.equal((await run(...given)).code, 0);
  }
  const { entries } = await auditLog();
  const newest = entries.slice(0, 4).reverse();
  assert.deepEqual(
    newest.map(({ action }: { action: string }) => action),
    ['administrator.added', 'administrator.password_changed', 'signing_key.rotated', 'administrator.removed'],
  );
  for (const { actor, request_id, address } of newest) {
    assert.deepEqual(actor, { kind: 'command_line', id: null, name: userInfo().username });
    assert.deepEqual([request_id, address], [null, null]);
  }
  assert.equal(newest[0].target.name, email);
});

test('audit verify: beside a running service it tells the entries and the head that the service tells', async () => {
  const { head, entries } = await auditLog();
  const { code, document } = await runJson('audit', 'verify', '--head', `${head.position}:${head.hash}`);
  assert.deepEqual([code, document], [0, { entries: entries.length, removed: 0, head }]);
  const told = await run('audit', 'verify');
  assert.equal(told.code, 0);
  assert.match(
    told.stdout,
    new RegExp(`whole: ${entries.length} entries\\.\\nIts head is ${head.position}:[0-9a-f]{64}\\n$`),
  );
});

test('audit verify: exit code 1 and the first entry that does not fit', async () => {
  const ahead = await runJson('audit', 'verify', '--head', `1000:${'0'.repeat(64)}`);
  assert.deepEqual([ahead.code, ahead.document.error], [1, 'audit_log_broken']);
  await service.query(
    "update audit_entries set actor_name = 'somebody else' where position = 2 returning position",
  );
  const { code, document } = await runJson('audit', 'verify');
  assert.deepEqual([code, document.error, document.position], [1, 'audit_log_broken', 2]);
  assert.match(document.error_description, /Entry 2 is not the one that was written there/);
});

test('audit verify: wrong usage is a head of no form', async () => {
  const { code, stderr } = await run('audit', 'verify', '--head', '12');
  assert.equal(code, 2);
  assert.match(stderr, /a position, a colon and a hash/);
});

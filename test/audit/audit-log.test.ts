import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { digestSecret } from '../../src/ids.ts';
import { assertError } from '../assert-error.ts';
import { ADMIN, type CallOptions, startService, type TestService } from '../harness.ts';
import { auditLog, changingOperations, changingRequests, entryOf } from './scene.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

/** Operations that change something and are not in the log, each with its reason. */
const UNRECORDED: Readonly<Record<string, string>> = {};

const admin = true;
const call = (method: string, path: string, options: CallOptions = {}) =>
  service.call(method, path, { admin, ...options });

/** Every secret that an answer held. */
const secrets = new Set<string>([ADMIN.password]);

function keepSecrets(body: unknown): void {
  if (typeof body !== 'object' || body === null) return;
  for (const [name, value] of Object.entries(body)) {
    if (
      typeof value === 'string' &&
      /^(client_secret|secret|password|access_token|refresh_token)$/.test(name)
    )
      secrets.add(value);
    else keepSecrets(value);
  }
}

test('every operation that changes something is in the log, and says who, what and from where', async () => {
  const requests = changingRequests(service);
  const operations = await changingOperations(service);
  assert.deepEqual(
    Object.keys({ ...requests, ...UNRECORDED }).sort(),
    operations.sort(),
    'each operation has its request in test/audit/scene.ts',
  );
  for (const [name, prepare] of Object.entries(requests)) {
    const [path, options] = await prepare();
    const request = { ...options, headers: { 'x-request-id': 'audited-1' } };
    if (options.bearer !== undefined) secrets.add(options.bearer);
    const entry = await entryOf(service, async () => {
      const answer = await service.call(name.split(' ')[0] as string, path, request);
      keepSecrets(answer.body);
      return answer;
    });
    assert.equal(entry.actor.kind, options.bearer === undefined ? 'administrator' : 'agent', name);
    assert.equal(entry.actor.name, options.bearer === undefined ? ADMIN.email : 'test agent', name);
    assert.deepEqual([entry.request_id, entry.address], ['audited-1', '127.0.0.1'], name);
  }
});

test('an administrator who changes leaves what changed, that the password did, and each key that ended', async () => {
  const person = { email: 'changing@signet.test', role: 'viewer', password: 'the first of two' };
  const { id } = (await call('POST', '/api/administrators', { json: person })).body.administrator;
  const keys = '/api/administrators/me/keys';
  const made = await service.call('POST', keys, { admin: person, json: { name: 'script' } });
  const since = (await auditLog(service)).head.position;
  const json = { role: 'operator', email: 'changed@signet.test', password: 'the second of two' };
  const path = `/api/administrators/${id}`;
  assert.equal((await call('PUT', path, { json: { ...json, revoke_keys: true } })).status, 200);
  const { entries, head } = await auditLog(service, '?limit=3');
  assert.equal(head.position, since + 3);
  const [removed, password, changed] = entries;
  assert.deepEqual(removed.target, { kind: 'api_key', id: made.body.key.id, name: 'script' });
  assert.deepEqual([removed.action, removed.before.administrator_id], ['api_key.removed', id]);
  assert.deepEqual(
    [password.action, password.before, password.after, password.target.id],
    ['administrator.password_changed', null, null, id],
  );
  assert.deepEqual(
    [changed.action, changed.before, changed.after],
    [
      'administrator.changed',
      { email: person.email, role: 'viewer' },
      { email: json.email, role: 'operator' },
    ],
  );
  assertError(
    await call('PUT', path, { json: { organization_id: 'org_of_nobody' } }),
    400,
    'invalid_request',
  );
  assert.equal((await call('PUT', path, { json: { role: 'operator' } })).status, 200);
  assert.deepEqual((await auditLog(service)).head, head);
  for (const secret of [person.password, json.password, made.body.secret]) secrets.add(secret);
});

test('no secret, token or digest that was ever seen is in an entry', async () => {
  const agent = await service.createAgent();
  keepSecrets({ client_secret: agent.clientSecret, ...(await service.tokens(agent)) });
  const stored = [
    ...(await service.query('select digest as value from client_secrets')),
    ...(await service.query('select digest as value from refresh_tokens')),
    ...(await service.query('select password_hash as value from administrators')),
    ...(await service.query('select digest as value from administrator_keys')),
    ...(await service.query('select secret as value from webhooks')),
    ...(await service.query('select private_key as value from signing_keys')),
  ].map(({ value }) => String(value));
  const hidden = [...secrets, ...[...secrets].map(digestSecret), ...stored];
  assert.ok(secrets.size >= 8 && stored.length >= 10);
  const log = JSON.stringify(await service.query('select * from audit_entries'));
  assert.ok(log.length > 10_000);
  for (const secret of hidden) assert.equal(log.includes(secret), false, secret.slice(0, 8));
});

test('an entry has the members that a change made different, before and after', async () => {
  const { id } = await service.createAgent({ name: 'one', scopes: ['read'] });
  const path = `/api/agents/${id}`;
  const { entries } = await auditLog(service, `?target_id=${id}`);
  assert.equal(entries[0].action, 'agent.created');
  assert.deepEqual(
    [entries[0].before, entries[0].after.name, entries[0].after.scopes],
    [null, 'one', ['read']],
  );

  const updated = await entryOf(service, () => call('PUT', path, { json: { name: 'two', is_active: true } }));
  assert.deepEqual([updated.before, updated.after], [{ name: 'one' }, { name: 'two' }]);
  assert.deepEqual(updated.target, { kind: 'agent', id, name: 'two' });
  const off = await entryOf(service, () => call('POST', path, { json: { action: 'deactivate' } }));
  assert.deepEqual(
    [off.action, off.before, off.after],
    ['agent.updated', { is_active: true }, { is_active: false }],
  );
  const revoked = await entryOf(service, () => call('POST', path, { json: { action: 'revoke_tokens' } }));
  assert.deepEqual([revoked.action, revoked.before, revoked.after], ['agent.tokens_revoked', null, null]);
  const gone = await entryOf(service, () => call('DELETE', path));
  assert.deepEqual([gone.before.name, gone.before.is_active, gone.after], ['two', false, null]);
});

test('an organization goes with an entry for each agent, team, administrator and itself, all of that organization', async () => {
  const input = { name: 'Old', slug: 'old', owner_email: 'owner@old.test' };
  const { id } = (await call('POST', '/api/organizations', { json: input })).body;
  await call('POST', `/api/organizations/${id}/teams`, { json: { name: 'team' } });
  await service.createAgent({ organization_id: id });
  await call('POST', '/api/administrators', {
    json: { email: 'bound@old.test', role: 'viewer', organization_id: id },
  });
  const since = (await auditLog(service)).head.position;
  await call('DELETE', `/api/organizations/${id}`);
  const { entries } = await auditLog(service, `?organization_id=${id}`);
  const added = entries.filter(({ position }: { position: number }) => position > since);
  assert.deepEqual(
    added.map(({ action }: { action: string }) => action),
    ['organization.deleted', 'administrator.removed', 'team.deleted', 'agent.deleted'],
  );
});

test('what changes nothing, or fails, leaves no entry', async () => {
  const input = { name: 'Taken', slug: 'taken', owner_email: 'owner@taken.test' };
  const { id } = (await call('POST', '/api/organizations', { json: input })).body;
  const { head } = await auditLog(service);
  assertError(await call('POST', '/api/organizations', { json: input }), 409, 'conflict');
  const lost = { name: 'x', team_id: 'team_of_nobody', organization_id: id };
  assertError(await call('POST', '/api/agents', { json: lost }), 400, 'invalid_request');
  assertError(await call('DELETE', '/api/webhooks/webhook_of_nobody'), 404, 'not_found');
  assert.equal((await call('PUT', `/api/organizations/${id}`, { json: { name: 'Taken' } })).status, 200);
  assert.deepEqual((await auditLog(service)).head, head);
});

test('GET /api/audit-log: pages reach each entry once, newest first, and filters narrow it', async () => {
  const all = await auditLog(service);
  const positions = all.entries.map(({ position }: { position: number }) => position);
  assert.deepEqual(
    positions,
    Array.from(positions, (_, index) => all.head.position - index),
  );
  const paged: number[] = [];
  for (let query = '?limit=7'; query !== ''; ) {
    const page = await auditLog(service, query);
    paged.push(...page.entries.map(({ position }: { position: number }) => position));
    query = page.next_cursor === undefined ? '' : `?limit=7&cursor=${page.next_cursor}`;
  }
  assert.deepEqual(paged, positions);

  const [first] = all.entries.slice(-1);
  assert.deepEqual(
    [first.action, first.actor.kind, first.target.name],
    ['administrator.added', 'service', ADMIN.email],
  );
  const count = async (query: string) => (await auditLog(service, query)).entries.length;
  const rotated = await auditLog(service, '?action=signing_key.rotated');
  assert.equal(rotated.entries.length, 1);
  assert.ok((await count(`?actor_id=${rotated.entries[0].actor.id}`)) > 20);
  assert.equal(await count(`?actor_id=${rotated.entries[0].target.id}`), 0);
  const now = new Date(service.clock.now()).toISOString();
  assert.equal(await count(`?since=${now}`), all.entries.length);
  assert.equal(await count(`?until=${now}`), 0);
});

test('GET /api/audit-log 400, 401: a filter of no form, and no administrator', async () => {
  for (const query of ['?since=yesterday', '?action=agent.praised', '?cursor=0', '?who=me']) {
    assertError(await call('GET', `/api/audit-log${query}`), 400, 'invalid_request');
  }
  assertError(await service.call('GET', '/api/audit-log'), 401, 'unauthorized');
});

test('the address is that of the client where a trusted proxy tells it, and is not believed otherwise', async () => {
  const addressFor = async (forwarded: string) => {
    const headers = { 'x-forwarded-for': forwarded };
    const json = { name: 'forwarded' };
    return (await entryOf(service, () => call('POST', '/api/agents', { headers, json }))).address;
  };
  assert.equal(await addressFor('203.0.113.7'), '127.0.0.1');
  await service.restart({ env: { SIGNET_TRUSTED_PROXIES: '127.0.0.1 10.0.0.0/8' } });
  assert.equal(await addressFor('203.0.113.7'), '203.0.113.7');
  assert.equal(await addressFor('198.51.100.1, 203.0.113.7, 10.1.2.3'), '203.0.113.7');
  assert.equal(await addressFor('::ffff:203.0.113.9'), '203.0.113.9');
  assert.equal(await addressFor('<script>'), '127.0.0.1');
});

test('the service records what it does by itself, and forgets entries after their days', async () => {
  service.clock.advance({ days: 366, minutes: 1 });
  // At its start, the key whose time is over gives way.
  await service.restart();
  const newest = (await auditLog(service, '?limit=1')).entries[0];
  assert.deepEqual(
    [newest.action, newest.actor.kind, newest.address],
    ['signing_key.rotated', 'service', null],
  );
  service.clock.advance({ minutes: 1 });
  for (let looks = 0; looks < 500; looks++) {
    const { entries } = await auditLog(service);
    if (entries.length === 1) return assert.equal(entries[0].position, newest.position);
  }
  assert.fail('Old entries never went.');
});

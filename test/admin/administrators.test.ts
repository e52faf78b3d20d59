import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, assertInvalid } from '../assert-error.ts';
import { ADMIN, type Answer, type CallOptions, startService, type TestService } from '../harness.ts';
import { type Account, addAdministrator, addOrganization } from './accounts.ts';

const PATH = '/api/administrators';

let service: TestService;
let first: string;
before(async () => {
  service = await startService({ hasRealHash: true });
  first = (await asFirst('GET', `${PATH}/me`)).body.administrator.id;
});
after(() => service.stop());

const asFirst = (method: string, path: string, options: CallOptions = {}): Promise<Answer> =>
  service.call(method, path, { admin: true, ...options });

const status = async (options: CallOptions): Promise<number> =>
  (await service.call('GET', `${PATH}/me`, options)).status;

async function addKey(admin: Account | true, json: object = {}) {
  const answer = await service.call('POST', `${PATH}/me/keys`, { admin, json: { name: 'script', ...json } });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body as { key: { id: string; prefix: string; role: string | null }; secret: string };
}

test('the first administrator is an owner, of everything', async () => {
  const { body } = await asFirst('GET', `${PATH}/me`);
  const { email, role, organization_id } = body.administrator;
  assert.deepEqual([email, role, organization_id, body.key], [ADMIN.email, 'owner', null, null]);
});

test('an administrator is made with a password that was sent or that the service makes, listed, read, changed and removed', async () => {
  const json = { email: 'Made@Signet.test', role: 'operator', password: 'a password of their own' };
  const made = await asFirst('POST', PATH, { json });
  assert.deepEqual([made.status, Object.keys(made.body)], [201, ['administrator']]);
  const { id } = made.body.administrator;
  assert.equal(made.body.administrator.email, 'made@signet.test');
  assert.equal(await status({ admin: json }), 200);
  assert.equal(await status({ admin: await addAdministrator(service, { role: 'viewer' }) }), 200);
  const { body: page } = await asFirst('GET', `${PATH}?limit=2`);
  assert.deepEqual(page.administrators[1], made.body.administrator);
  const { body: rest } = await asFirst('GET', `${PATH}?cursor=${page.next_cursor}`);
  assert.deepEqual(
    rest.administrators.map(({ email }: Account) => email),
    [ADMIN.email],
  );
  const changes = { email: 'Renamed@Signet.test', password: 'another password' };
  const changed = await asFirst('PUT', `${PATH}/${id}`, { json: changes });
  assert.deepEqual(changed.body.administrator, { ...made.body.administrator, email: 'renamed@signet.test' });
  assert.deepEqual([await status({ admin: json }), await status({ admin: changes })], [401, 200]);
  assert.deepEqual((await asFirst('GET', `${PATH}/${id}`)).body, changed.body);
  assert.equal((await asFirst('DELETE', `${PATH}/${id}`)).status, 204);
  assert.equal(await status({ admin: changes }), 401);
  for (const method of ['GET', 'DELETE'])
    assertError(await asFirst(method, `${PATH}/${id}`), 404, 'not_found');
});

test('an address that is taken, an unknown role or organization, and a short password are refused', async () => {
  const email = 'refused@signet.test';
  const post = (json: object) => asFirst('POST', PATH, { json });
  assertError(await post({ email: ADMIN.email.toUpperCase(), role: 'viewer' }), 409, 'conflict');
  assertInvalid(await post({ email, role: 'king' }), 'role');
  assertInvalid(await post({ email }), 'role');
  assertInvalid(await post({ email: 'with:colon@signet.test', role: 'viewer' }), 'email');
  assertInvalid(await post({ email, role: 'viewer', organization_id: 'org_x' }), 'organization_id');
  assertInvalid(await post({ email, role: 'viewer', password: 'short' }), 'password');
  const { id, email: taken } = await addAdministrator(service, { role: 'viewer' });
  const put = (json: object) => asFirst('PUT', `${PATH}/${id}`, { json });
  assertError(await put({ email: ADMIN.email }), 409, 'conflict');
  assertInvalid(await put({ organization_id: 'org_x' }), 'organization_id');
  assertInvalid(await put({ id: first }), 'id');
  assert.equal((await asFirst('GET', `${PATH}/${id}`)).body.administrator.email, taken);
});

test('the last owner of everything is neither removed nor demoted nor bound; with another one it works', async () => {
  const organization_id = await addOrganization(service, 'last');
  await addAdministrator(service, { role: 'owner', organization_id });
  const path = `${PATH}/${first}`;
  const attempts = () => [
    asFirst('DELETE', path),
    asFirst('PUT', path, { json: { role: 'operator' } }),
    asFirst('PUT', path, { json: { organization_id } }),
  ];
  for (const answer of await Promise.all(attempts())) assertError(answer, 409, 'conflict');
  const { role, organization_id: bound } = (await asFirst('GET', `${PATH}/me`)).body.administrator;
  assert.deepEqual([role, bound], ['owner', null]);
  const second = await addAdministrator(service, { role: 'owner' });
  assert.equal((await asFirst('PUT', path, { json: { role: 'viewer' } })).status, 200);
  assertError(await asFirst('GET', PATH), 403, 'insufficient_role');
  const json = { role: 'owner' };
  assert.equal((await service.call('PUT', path, { admin: second, json })).status, 200);
  assert.equal((await asFirst('DELETE', `${PATH}/${second.id}`)).status, 204);
});

test('one’s own password is changed with the current one alone, by whoever it is, and keys end where that is asked', async () => {
  const somebody = await addAdministrator(service, { role: 'viewer' });
  const { secret } = await addKey(somebody);
  const put = (admin: Account, json: object) => service.call('PUT', `${PATH}/me`, { admin, json });
  const wrong = { current_password: 'not this one', password: 'the next password' };
  assertInvalid(await put(somebody, wrong), 'current_password');
  const next = { ...somebody, password: 'the next password' };
  const right = { current_password: somebody.password, password: next.password };
  assert.equal((await put(somebody, right)).status, 200);
  assert.deepEqual([await status({ admin: somebody }), await status({ admin: next })], [401, 200]);
  assert.equal(await status({ bearer: secret }), 200);
  const back = { current_password: next.password, password: somebody.password, revoke_keys: true };
  assert.equal((await put(next, back)).status, 200);
  assert.deepEqual([await status({ admin: somebody }), await status({ bearer: secret })], [200, 401]);
  const own = await asFirst('PUT', `${PATH}/${first}`, { json: { password: 'without the old one' } });
  assertInvalid(own, 'password');
});

test('an API key is sent as Bearer token or as the password of its owner, and is shown once', async () => {
  const somebody = await addAdministrator(service, { role: 'operator' });
  const { key, secret } = await addKey(somebody);
  assert.match(secret, /^sk_[0-9a-hjkmnp-tv-z]{59}$/);
  assert.equal(key.prefix, secret.slice(0, 9));
  const { email } = somebody;
  assert.equal(await status({ bearer: secret }), 200);
  assert.equal(await status({ admin: { email: email.toUpperCase(), password: secret } }), 200);
  assert.equal(await status({ admin: { email: ADMIN.email, password: secret } }), 401);
  const forged = `${secret.slice(0, 20)}${secret[20] === 'a' ? 'b' : 'a'}${secret.slice(21)}`;
  assert.equal(await status({ bearer: forged }), 401);
  const me = (await service.call('GET', `${PATH}/me`, { bearer: secret })).body;
  assert.deepEqual([me.administrator.email, me.key.id], [email, key.id]);
  const lists = [
    await service.call('GET', `${PATH}/me/keys`, { admin: somebody }),
    await asFirst('GET', `${PATH}/${somebody.id}/keys`),
  ];
  assert.deepEqual(lists[0]?.body, lists[1]?.body);
  assert.equal(JSON.stringify(lists).includes(secret), false);
  assert.equal(service.logLines.join('').includes(secret), false);
  const stored = await service.query('select * from administrator_keys');
  assert.equal(JSON.stringify(stored).includes(secret.slice(9)), false);
});

test('an API key ends when it expires, when it is removed, and with its administrator', async () => {
  const somebody = await addAdministrator(service, { role: 'operator' });
  const [short, removed, byOwner, last] = [
    await addKey(somebody, { expires_in: 3600 }),
    await addKey(somebody),
    await addKey(somebody),
    await addKey(somebody),
  ];
  const statuses = () =>
    Promise.all([short, removed, byOwner, last].map(({ secret }) => status({ bearer: secret })));
  service.clock.advance({ seconds: 3599 });
  assert.deepEqual(await statuses(), [200, 200, 200, 200]);
  service.clock.advance({ seconds: 1 });
  assert.deepEqual(await statuses(), [401, 200, 200, 200]);
  const others = await addAdministrator(service, { role: 'operator' });
  const path = `${PATH}/me/keys/${removed.key.id}`;
  assertError(await service.call('DELETE', path, { admin: others }), 404, 'not_found');
  assert.equal((await service.call('DELETE', path, { admin: somebody })).status, 204);
  const ofAnother = `${PATH}/${others.id}/keys/${byOwner.key.id}`;
  assertError(await asFirst('DELETE', ofAnother), 404, 'not_found');
  assert.equal((await asFirst('DELETE', `${PATH}/${somebody.id}/keys/${byOwner.key.id}`)).status, 204);
  assert.deepEqual(await statuses(), [401, 401, 401, 200]);
  assert.equal((await asFirst('DELETE', `${PATH}/${somebody.id}`)).status, 204);
  assert.deepEqual(await statuses(), [401, 401, 401, 401]);
});

test('the last use of a key is noted, at most once a minute', async () => {
  const { key, secret } = await addKey(true);
  const lastUse = async () => {
    const { keys } = (await asFirst('GET', `${PATH}/me/keys`)).body;
    return keys.find(({ id }: { id: string }) => id === key.id).last_used_at;
  };
  const now = () => new Date(service.clock.now()).toISOString();
  assert.equal(await lastUse(), null);
  await status({ bearer: secret });
  const noted = now();
  service.clock.advance({ seconds: 59 });
  await status({ bearer: secret });
  assert.equal(await lastUse(), noted);
  service.clock.advance({ seconds: 2 });
  await status({ bearer: secret });
  assert.equal(await lastUse(), now());
});

test('a key has no more than its administrator’s role, and makes no further keys', async () => {
  const somebody = await addAdministrator(service, { role: 'operator' });
  const json = { name: 'wide', role: 'owner' };
  const wide = await service.call('POST', `${PATH}/me/keys`, { admin: somebody, json });
  assertError(wide, 403, 'insufficient_role');
  const { secret } = await addKey(somebody, { role: 'viewer' });
  assert.equal((await service.call('GET', '/api/agents', { bearer: secret })).status, 200);
  const agent = { json: { name: 'agent' } };
  assertError(
    await service.call('POST', '/api/agents', { bearer: secret, ...agent }),
    403,
    'insufficient_role',
  );
  const full = await addKey(somebody);
  assert.equal((await service.call('POST', '/api/agents', { bearer: full.secret, ...agent })).status, 201);
  const more = await service.call('POST', `${PATH}/me/keys`, { bearer: full.secret, json: { name: 'more' } });
  assertError(more, 403, 'insufficient_role');
});

test('those who are bound to an organization go with it, and their keys', async () => {
  const organization_id = await addOrganization(service, 'going');
  const bound = await addAdministrator(service, { role: 'operator', organization_id });
  const { secret } = await addKey(bound);
  assert.equal((await asFirst('DELETE', `/api/organizations/${organization_id}`)).status, 204);
  assert.deepEqual([await status({ admin: bound }), await status({ bearer: secret })], [401, 401]);
  assertError(await asFirst('GET', `${PATH}/${bound.id}`), 404, 'not_found');
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, assertInvalid } from '../assert-error.ts';
import { type Answer, startService, type TestService } from '../harness.ts';

const UNKNOWN = '/api/organizations/org_00000000000000000000000000';
const OWNER = 'owner@acme.example';
const LONGEST_TOKEN_SECONDS = 2_592_000;

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const create = (json: unknown): Promise<Answer> =>
  service.call('POST', '/api/organizations', { admin: true, json });
const change = (id: string, json: unknown): Promise<Answer> =>
  service.call('PUT', `/api/organizations/${id}`, { admin: true, json });
const read = (id: string): Promise<Answer> =>
  service.call('GET', `/api/organizations/${id}`, { admin: true });
const count = async (): Promise<number> =>
  (await service.call('GET', '/api/organizations', { admin: true })).body.organizations.length;

let made = 0;
async function newOrganization(): Promise<string> {
  made += 1;
  return (await create({ name: 'Acme', slug: `made-${made}`, owner_email: OWNER })).body.id;
}

test('POST /api/organizations 201: answers the organization, on the free plan', async () => {
  const { status, body } = await create({ name: 'Acme', slug: 'acme-1', owner_email: OWNER });
  assert.equal(status, 201);
  const { id, ...rest } = body;
  assert.match(id, /^org_[0-9a-z]{26}$/);
  assert.deepEqual(rest, {
    name: 'Acme',
    slug: 'acme-1',
    owner_email: OWNER,
    plan: 'free',
    jwt_expiry_secs: null,
    created_at: new Date(service.clock.now()).toISOString(),
  });
  assert.deepEqual((await read(id)).body, body);
});

test('POST /api/organizations 409: a slug that is taken, and the first one keeps it', async () => {
  const json = { name: 'First', slug: 'taken', owner_email: OWNER };
  const { body } = await create(json);
  const before = await count();
  const answer = await create({ ...json, name: 'Second' });
  assertError(answer, 409, 'conflict');
  assert.match(answer.body.error_description, /^slug:/);
  assert.equal(await count(), before);
  assert.equal((await read(body.id)).body.name, 'First');
});

test('POST /api/organizations 409: of many with one slug at once, one wins', async () => {
  const json = { name: 'Race', slug: 'race', owner_email: OWNER };
  const answers = await Promise.all(Array.from({ length: 8 }, () => create(json)));
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [201, ...Array<number>(7).fill(409)]);
});

test('POST /api/organizations 201: the slug of a deleted organization is free again', async () => {
  const json = { name: 'Phoenix', slug: 'phoenix', owner_email: OWNER };
  const { body } = await create(json);
  await service.call('DELETE', `/api/organizations/${body.id}`, { admin: true });
  assert.equal((await create(json)).status, 201);
});

for (const slug of ['x', '7', 'a-b-c', 'x'.repeat(63)]) {
  test(`POST /api/organizations 201: the slug ${slug.slice(0, 10)} (${slug.length}) is taken`, async () => {
    const { body } = await create({ name: 'Slug', slug, owner_email: OWNER });
    assert.equal((await read(body.id)).body.slug, slug);
  });
}

const good = { name: 'Bad', slug: 'bad', owner_email: OWNER };
for (const [what, field, json] of [
  ['no name', 'name', { slug: 'bad', owner_email: OWNER }],
  ['no slug', 'slug', { name: 'Bad', owner_email: OWNER }],
  ['no owner', 'owner_email', { name: 'Bad', slug: 'bad' }],
  ['an empty name', 'name', { ...good, name: '' }],
  ['a name of 201 characters', 'name', { ...good, name: 'x'.repeat(201) }],
  ['an empty slug', 'slug', { ...good, slug: '' }],
  ['capitals in a slug', 'slug', { ...good, slug: 'Bad' }],
  ['an underscore in a slug', 'slug', { ...good, slug: 'b_d' }],
  ['a space in a slug', 'slug', { ...good, slug: 'b d' }],
  ['a line break after a slug', 'slug', { ...good, slug: 'bad\n' }],
  ['a slug of 64 characters', 'slug', { ...good, slug: 'x'.repeat(64) }],
  ['a slug that is a number', 'slug', { ...good, slug: 7 }],
  ['an address without a host', 'owner_email', { ...good, owner_email: 'owner' }],
  ['an address over 254 characters', 'owner_email', { ...good, owner_email: `${'x'.repeat(250)}@a.example` }],
  ['a chosen plan', 'plan', { ...good, plan: 'enterprise' }],
  ['an unknown member', 'id', { ...good, id: 'org_mine' }],
  ['no body', 'body', undefined],
] as const) {
  test(`POST /api/organizations 400: ${what} is refused, and nothing is created`, async () => {
    const before = await count();
    assertInvalid(await create(json), field);
    assert.equal(await count(), before);
  });
}

test('PUT /api/organizations/:id 200: what is sent changes, what is absent stays', async () => {
  const id = await newOrganization();
  const before = (await read(id)).body;
  const { status, body } = await change(id, { name: 'Renamed' });
  assert.equal(status, 200);
  assert.deepEqual(body, { ...before, name: 'Renamed' });
  assert.deepEqual((await change(id, { jwt_expiry_secs: 60 })).body, { ...body, jwt_expiry_secs: 60 });
  assert.deepEqual((await read(id)).body, { ...before, name: 'Renamed', jwt_expiry_secs: 60 });
});

test('PUT /api/organizations/:id 200: jwt_expiry_secs is how long its tokens live, null restores the default', async () => {
  const id = await newOrganization();
  const agent = await service.createAgent({ organization_id: id });
  const lifetime = async () => {
    const { exp, iat } = await service.introspect((await service.tokens(agent)).accessToken);
    return exp - iat;
  };
  for (const [jwtExpirySeconds, expected] of [
    [1, 1],
    [LONGEST_TOKEN_SECONDS, LONGEST_TOKEN_SECONDS],
    [null, 3600],
  ]) {
    assert.equal((await change(id, { jwt_expiry_secs: jwtExpirySeconds })).status, 200);
    assert.equal(await lifetime(), expected);
  }
});

for (const [what, field, json] of [
  ['a lifetime of 0', 'jwt_expiry_secs', { jwt_expiry_secs: 0 }],
  ['a lifetime over 30 days', 'jwt_expiry_secs', { jwt_expiry_secs: LONGEST_TOKEN_SECONDS + 1 }],
  ['a lifetime in quotes', 'jwt_expiry_secs', { jwt_expiry_secs: '60' }],
  ['a fraction of a second', 'jwt_expiry_secs', { jwt_expiry_secs: 0.5 }],
  ['an empty name', 'name', { name: '' }],
  ['null for a name', 'name', { name: null }],
  ['a new slug', 'slug', { name: 'New', slug: 'new' }],
  ['a new plan', 'plan', { plan: 'enterprise' }],
  ['no body', 'body', undefined],
] as const) {
  test(`PUT /api/organizations/:id 400: ${what} is refused, and nothing changes`, async () => {
    const id = await newOrganization();
    const before = (await read(id)).body;
    assertInvalid(await change(id, json), field);
    assert.deepEqual((await read(id)).body, before);
  });
}

test('PUT /api/organizations/:id 400: an empty update is refused', async () => {
  assertError(await change(await newOrganization(), {}), 400, 'invalid_request');
});

for (const [method, json] of [
  ['GET', undefined],
  ['PUT', { name: 'x' }],
  ['DELETE', undefined],
] as const) {
  test(`${method} /api/organizations/:id 404: no such organization`, async () => {
    const options = { admin: true, ...(json !== undefined && { json }) } as const;
    assertError(await service.call(method, UNKNOWN, options), 404, 'not_found');
  });
}

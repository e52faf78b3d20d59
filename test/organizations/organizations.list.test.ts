import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvalid } from '../assert-error.ts';
import { type Answer, startService, type TestService } from '../harness.ts';

const SLUGS = ['one', 'two', 'three'];
const NEWEST_FIRST = SLUGS.toReversed();

let service: TestService;
before(async () => {
  service = await startService();
  for (const slug of SLUGS) {
    const json = { name: slug, slug, owner_email: 'owner@acme.example' };
    await service.call('POST', '/api/organizations', { admin: true, json });
  }
});
after(() => service.stop());

const list = (query = ''): Promise<Answer> =>
  service.call('GET', `/api/organizations${query}`, { admin: true });
const slugsIn = ({ body }: Answer): string[] =>
  body.organizations.map((organization: { slug: string }) => organization.slug);

test('GET /api/organizations 200: newest first, with plan, and no cursor where nothing remains', async () => {
  const answer = await list();
  assert.equal(answer.status, 200);
  assert.deepEqual(slugsIn(answer), NEWEST_FIRST);
  assert.equal('next_cursor' in answer.body, false);
  const [first] = answer.body.organizations;
  assert.match(first.id, /^org_/);
  assert.deepEqual([first.name, first.plan], ['three', 'free']);
});

test('GET /api/organizations 200: pages follow each other, and the last has no cursor', async () => {
  const first = await list('?limit=2');
  assert.deepEqual(slugsIn(first), NEWEST_FIRST.slice(0, 2));
  const second = await list(`?limit=2&cursor=${first.body.next_cursor}`);
  assert.deepEqual(slugsIn(second), NEWEST_FIRST.slice(2));
  assert.equal('next_cursor' in second.body, false);
  assert.equal('next_cursor' in (await list('?limit=3')).body, false);
});

for (const [field, query] of [
  ['limit', 'limit=0'],
  ['limit', 'limit=1001'],
  ['limit', 'limit=ten'],
  ['cursor', 'cursor=x'],
  ['cursor', 'cursor=agent_01k0d4v3s6e8wbn7xtq5mzr2ch'],
  ['q', 'q=one'],
] as const) {
  test(`GET /api/organizations 400: ${query} is refused`, async () => {
    assertInvalid(await list(`?${query}`), field);
  });
}

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvalid } from '../assert-error.ts';
import { type Answer, startService, type TestService } from '../harness.ts';

const NAMES = ['one', 'two', 'three'];
const NEWEST_FIRST = NAMES.toReversed();

let service: TestService;
before(async () => {
  service = await startService();
  for (const name of NAMES) {
    const json = { name, url: 'http://127.0.0.1:1/', events: ['agent.created'] };
    await service.call('POST', '/api/webhooks', { admin: true, json });
  }
});
after(() => service.stop());

const list = (query = ''): Promise<Answer> => service.call('GET', `/api/webhooks${query}`, { admin: true });
const namesIn = ({ body }: Answer): string[] =>
  body.webhooks.map((webhook: { name: string }) => webhook.name);

test('GET /api/webhooks 200: newest first, with consecutive_fails, and no cursor where nothing remains', async () => {
  const answer = await list();
  assert.equal(answer.status, 200);
  assert.deepEqual(namesIn(answer), NEWEST_FIRST);
  assert.equal('next_cursor' in answer.body, false);
  const { id, url, events, is_active: isActive, consecutive_fails: fails } = answer.body.webhooks[0];
  assert.match(id, /^webhook_/);
  assert.deepEqual([url, events], ['http://127.0.0.1:1/', ['agent.created']]);
  assert.deepEqual([isActive, fails], [true, 0]);
});

test('GET /api/webhooks 200: pages follow each other, and the last has no cursor', async () => {
  const first = await list('?limit=2');
  assert.deepEqual(namesIn(first), NEWEST_FIRST.slice(0, 2));
  const second = await list(`?limit=2&cursor=${first.body.next_cursor}`);
  assert.deepEqual(namesIn(second), NEWEST_FIRST.slice(2));
  assert.equal('next_cursor' in second.body, false);
  assert.equal('next_cursor' in (await list('?limit=3')).body, false);
});

for (const [field, query] of [
  ['limit', 'limit=0'],
  ['limit', 'limit=1001'],
  ['cursor', 'cursor=x'],
  ['cursor', 'cursor=delivery_01k0d4v3s6e8wbn7xtq5mzr2ch'],
  ['is_active', 'is_active=true'],
] as const) {
  test(`GET /api/webhooks 400: ${query} is refused`, async () => {
    assertInvalid(await list(`?${query}`), field);
  });
}

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvalid } from '../assert-error.ts';
import { type Answer, startService, type TestService } from '../harness.ts';
import { allEvents, subscribe } from './subscriber.ts';

const STATUSES = ['pending', 'retrying', 'delivered', 'failed', 'dead'];
const NEWEST_FIRST = ['agent.deleted', 'agent.updated', 'agent.created', 'agent.created'];

let service: TestService;
let path: string;
before(async () => {
  service = await startService();
  path = `/api/webhooks/${(await subscribe(service)).id}/deliveries`;
  await service.createAgent();
  const agent = `/api/agents/${(await service.createAgent()).id}`;
  await service.call('PUT', agent, { admin: true, json: { name: 'renamed' } });
  await service.call('DELETE', agent, { admin: true });
});
after(() => service.stop());

const list = (query = ''): Promise<Answer> => service.call('GET', path + query, { admin: true });
const member = ({ body }: Answer, name: string): string[] =>
  body.deliveries.map((delivery: Record<string, string>) => delivery[name]);
const typesIn = (answer: Answer): string[] => member(answer, 'event');

test('GET /api/webhooks/:id/deliveries 200: newest first, each naming its event', async () => {
  const answer = await list();
  assert.equal(answer.status, 200);
  assert.deepEqual(typesIn(answer), NEWEST_FIRST);
  assert.equal('next_cursor' in answer.body, false);
  const written = (await allEvents(service)).map(({ id }) => id);
  assert.deepEqual(member(answer, 'event_id'), written.toReversed());
  for (const field of ['id', 'status', 'attempts', 'last_attempt_at', 'created_at']) {
    assert.ok(field in answer.body.deliveries[0], field);
  }
});

test('GET /api/webhooks/:id/deliveries 200: pages follow each other, and the last has no cursor', async () => {
  const first = await list('?limit=3');
  assert.deepEqual(typesIn(first), NEWEST_FIRST.slice(0, 3));
  const second = await list(`?limit=3&cursor=${first.body.next_cursor}`);
  assert.deepEqual(typesIn(second), NEWEST_FIRST.slice(3));
  assert.equal('next_cursor' in second.body, false);
});

test('GET /api/webhooks/:id/deliveries 200: filters by event', async () => {
  assert.deepEqual(typesIn(await list('?event=agent.created')), ['agent.created', 'agent.created']);
  assert.deepEqual(typesIn(await list('?event=token.issued')), []);
});

test('GET /api/webhooks/:id/deliveries 200: filters by status, each delivery having exactly one', async () => {
  const found: string[] = [];
  for (const status of STATUSES) {
    const answer = await list(`?status=${status}`);
    assert.ok(member(answer, 'status').every((shown) => shown === status));
    found.push(...member(answer, 'id'));
  }
  assert.deepEqual(found.toSorted(), member(await list(), 'id').toSorted());
});

test('GET /api/webhooks/:id/deliveries 200: shows a webhook its own only', async () => {
  const other = await subscribe(service, 'agent.created');
  const { body } = await service.call('GET', `/api/webhooks/${other.id}/deliveries`, { admin: true });
  assert.deepEqual(body, { deliveries: [] });
});

for (const [field, query] of [
  ['status', 'status=lost'],
  ['event', 'event=agent.exploded'],
  ['event', 'event=*'],
  ['limit', 'limit=0'],
  ['limit', 'limit=1001'],
  ['cursor', 'cursor=x'],
  ['cursor', 'cursor=webhook_01k0d4v3s6e8wbn7xtq5mzr2ch'],
  ['page', 'page=2'],
] as const) {
  test(`GET /api/webhooks/:id/deliveries 400: ${query} is refused`, async () => {
    assertInvalid(await list(`?${query}`), field);
  });
}

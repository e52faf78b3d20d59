import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvalid } from '../assert-error.ts';
import { type Answer, startService, type TestService } from '../harness.ts';

// Refuses connections; names would be looked up for each of its events.
const good = { name: 'hook', url: 'http://127.0.0.1:1/' };

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const create = (json: unknown): Promise<Answer> =>
  service.call('POST', '/api/webhooks', { admin: true, json });
const list = async () => (await service.call('GET', '/api/webhooks', { admin: true })).body.webhooks;

const refused = [
  ['an empty name', 'name', { name: '' }],
  ['a name of 201 characters', 'name', { name: 'x'.repeat(201) }],
  ['an empty URL', 'url', { url: '' }],
  ['a URL without a scheme', 'url', { url: 'receiver.invalid/hook' }],
  ['a URL of another scheme', 'url', { url: 'ftp://receiver.invalid/' }],
  ['a file', 'url', { url: 'file:///etc/passwd' }],
  ['a user name in the URL', 'url', { url: 'https://user@receiver.invalid/' }],
  ['a password in the URL', 'url', { url: 'https://:secret@receiver.invalid/' }],
  ['a URL of 2,049 characters', 'url', { url: `http://receiver.invalid/${'x'.repeat(2049 - 24)}` }],
  ['a URL that is no string', 'url', { url: 7 }],
  ['an unknown event', 'events', { events: ['agent.created', 'agent.exploded'] }],
  ['a pattern of events', 'events', { events: ['agent.*'] }],
  ['events as one string', 'events', { events: 'agent.created' }],
  ['no attempt at all', 'max_retries', { max_retries: 0 }],
  ['101 attempts', 'max_retries', { max_retries: 101 }],
  ['half an attempt', 'max_retries', { max_retries: 1.5 }],
  ['attempts in quotes', 'max_retries', { max_retries: '10' }],
  ['null for the attempts', 'max_retries', { max_retries: null }],
  ['a chosen secret', 'secret', { secret: 'whsec_mine' }],
  ['an unknown member', 'consecutive_fails', { consecutive_fails: 0 }],
] as const;

for (const [what, field, json] of [
  ['no name', 'name', { url: good.url }],
  ['no URL', 'url', { name: 'hook' }],
  ['is_active, which begins as true', 'is_active', { ...good, is_active: false }],
  ['no body', 'body', undefined],
  ...refused.map(([what, field, json]) => [what, field, { ...good, ...json }] as const),
] as const) {
  test(`POST /api/webhooks 400: ${what} is refused, and nothing is created`, async () => {
    const before = await list();
    assertInvalid(await create(json), field);
    assert.deepEqual(await list(), before);
  });
}

for (const [what, field, json] of [
  ['a word for a flag', 'is_active', { is_active: 'no' }],
  ...refused,
] as const) {
  test(`PUT /api/webhooks/:id 400: ${what} is refused, and nothing changes`, async () => {
    const { webhook } = (await create(good)).body;
    const path = `/api/webhooks/${webhook.id}`;
    assertInvalid(await service.call('PUT', path, { admin: true, json }), field);
    assert.deepEqual((await service.call('GET', path, { admin: true })).body.webhook, webhook);
  });
}

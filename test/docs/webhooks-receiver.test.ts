import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { ADMIN, startService, type TestService } from '../harness.ts';
import { until } from '../until.ts';
import { fencedBlocks } from './markdown.ts';
import { type ExampleServer, startExample } from './webhook-example.ts';
import { fileName } from './webhook-snippets.ts';

const run = promisify(execFile);
const blocks = fencedBlocks(readFileSync('docs/webhooks.md', 'utf8'));
const example = blocks.find(({ text }) => fileName(text) === 'receiver.mjs')?.text ?? '';

let service: TestService;
let server: ExampleServer;
let webhookId: string;

before(async () => {
  service = await startService();
  server = await startExample(example, async (origin) => {
    const json = { name: 'example', url: `${origin}/signet`, max_retries: 1 };
    const { body } = await service.call('POST', '/api/webhooks', { admin: true, json });
    webhookId = body.webhook.id;
    return { WEBHOOK_SECRET: body.secret };
  });
});
after(async () => {
  await service.stop();
  await server.stop();
});

const asAdmin = (method: string, path: string) => service.call(method, path, { admin: true });

test('docs/webhooks.md: receiver.mjs answers 2xx to an event, and handles it', async () => {
  const { id } = await service.createAgent();
  await server.untilPrinted(id);
  const { body } = await asAdmin('GET', `/api/webhooks/${webhookId}/deliveries?event=agent.created`);
  assert.equal(body.deliveries.length, 1);
});

test('docs/webhooks.md: receiver.mjs handles an event once, however often it comes', async () => {
  const path = `/api/webhooks/${webhookId}/deliveries`;
  const { body: tested } = await asAdmin('POST', `/api/webhooks/${webhookId}/test`);
  assert.equal(tested.success, true);
  const { body: again } = await asAdmin('POST', `${path}/${tested.delivery_id}/redeliver`);
  await until(
    'the delivery',
    async () => (await asAdmin('GET', `${path}/${again.delivery.id}`)).body.delivery.status === 'delivered',
  );
  assert.equal(server.printed().split('webhook.test').length - 1, 1);
});

test('docs/webhooks.md: receiver.mjs answers 400 to a forged request', async () => {
  const headers = {
    'content-type': 'application/json',
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}`,
  };
  const response = await fetch(`${server.origin}/signet`, {
    method: 'POST',
    headers,
    body: '{"id":"evt_1"}',
  });
  assert.equal(response.status, 400);
});

const hasTools = ['curl', 'sh'].every((tool) => spawnSync(tool, ['--version']).error === undefined);

test('docs/webhooks.md: the first command makes the webhook that the page shows', {
  skip: hasTools ? false : 'it needs curl and a shell',
}, async () => {
  const [command, answer] = blocks;
  const text = (command?.text ?? '')
    .replace('127.0.0.1:8080', new URL(service.url).host)
    .replace('admin@localhost', ADMIN.email);
  const { stdout } = await run('sh', ['-euc', text], { env: { ...process.env, PASSWORD: ADMIN.password } });
  const [made, shown] = [stdout, answer?.text ?? ''].map((json) => JSON.parse(json));
  assert.match(made.secret, /^whsec_/);
  const { id, created_at } = made.webhook;
  assert.deepEqual(made.webhook, { ...shown.webhook, id, created_at });
  assert.deepEqual(Object.keys(made), Object.keys(shown));
});

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { startService, type TestService } from '../harness.ts';
import { fencedBlocks } from './markdown.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from './webhook-receiver.ts';
import {
  fileName,
  missingTool,
  type Snippet,
  type SnippetFolder,
  saveBlocks,
  snippets,
} from './webhook-snippets.ts';

const blocks = fencedBlocks(readFileSync('docs/webhooks.md', 'utf8'));

let service: TestService;
let receiver: Receiver;
let folder: SnippetFolder;
/** Two requests of a real service: before a rotation of the secret, and after it. */
let sent: { request: ReceivedRequest; secret: string };
let rotated: { request: ReceivedRequest; secret: string; previousSecret: string };

before(async () => {
  folder = saveBlocks(blocks);
  receiver = await startReceiver();
  service = await startService();
  const { id, secret } = await createWebhook();
  sent = { request: await sendTest(id), secret };
  const { body } = await admin('POST', `/api/webhooks/${id}/rotate-secret`);
  rotated = { request: await sendTest(id), secret: body.secret, previousSecret: secret };
});
after(async () => {
  await service.stop();
  await receiver.close();
  folder.remove();
});

test('every block that names a file is tested', () => {
  const named = blocks.map(({ text }) => fileName(text)).filter((name) => name !== null);
  assert.deepEqual(named.toSorted(), ['receiver.mjs', ...snippets.map(({ name }) => name)].toSorted());
});

for (const snippet of snippets) {
  describe(`docs/webhooks.md: ${snippet.name}`, { skip: missingTool(snippet) }, () => {
    const verdict = (request: ReceivedRequest, secret: string) =>
      snippet.verdict(folder.path, request, secret);

    test('takes a request of the service', async () => {
      assert.equal(await verdict(sent.request, sent.secret), 'authentic');
    });

    test('refuses a changed body', async () => {
      const body = Buffer.from(sent.request.body.toString().replace('webhook.test', 'webhook.tess'));
      assert.match(await verdict({ ...sent.request, body }, sent.secret), /signature is wrong/);
    });

    test('refuses what another secret signed', async () => {
      assert.match(await verdict(sent.request, rotated.secret), /signature is wrong/);
    });

    test('takes either secret while a rotation runs', async () => {
      assert.equal(await verdict(rotated.request, rotated.secret), 'authentic');
      assert.equal(await verdict(rotated.request, rotated.previousSecret), 'authentic');
    });

    test('refuses an old request that is rightly signed', { skip: isTimeless(snippet) }, async () => {
      assert.match(await verdict(signedBefore(600, sent), sent.secret), /timestamp is too far away/);
      assert.equal(await verdict(signedBefore(60, sent), sent.secret), 'authentic');
    });
  });
}

function isTimeless({ name }: Snippet): string | false {
  return name === 'verify-plain.mjs' && 'the plain signature has no time in it';
}

/** The request as it would have been some seconds ago. */
function signedBefore(seconds: number, { request, secret }: typeof sent): ReceivedRequest {
  const id = request.headers['webhook-id'] ?? '';
  const timestamp = String(Math.floor(Date.now() / 1000) - seconds);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const digest = createHmac('sha256', key)
    .update(`${id}.${timestamp}.`)
    .update(request.body)
    .digest('base64');
  const headers = { 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${digest}` };
  return { ...request, headers: { ...request.headers, ...headers } };
}

async function createWebhook(): Promise<{ id: string; secret: string }> {
  const { body } = await admin('POST', '/api/webhooks', { name: 'snippets', url: receiver.url });
  return { id: body.webhook.id, secret: body.secret };
}

async function sendTest(id: string): Promise<ReceivedRequest> {
  const { body } = await admin('POST', `/api/webhooks/${id}/test`, { event: 'webhook.test' });
  assert.equal(body.success, true);
  const request = receiver.requests.at(-1);
  assert.ok(request);
  return request;
}

function admin(method: string, path: string, json?: unknown) {
  return service.call(method, path, { admin: true, ...(json !== undefined && { json }) });
}

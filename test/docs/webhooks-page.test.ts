import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { eventTypes } from '../../src/events/event.ts';
import { retryDelayMilliseconds } from '../../src/webhooks/delivery.ts';
import { DEFAULT_MAX_RETRIES } from '../../src/webhooks/webhook.ts';
import { startService, type TestService } from '../harness.ts';
import { allEvents, subscribe, type WrittenEvent } from '../webhooks/subscriber.ts';
import { type Receiver, startReceiver } from './webhook-receiver.ts';

const page = readFileSync('docs/webhooks.md', 'utf8');

let service: TestService;
let receiver: Receiver;
let events: WrittenEvent[];

before(async () => {
  receiver = await startReceiver();
  service = await startService();
  await subscribe(service);
  const webhook = await asAdmin('POST', '/api/webhooks', { name: 'tested', url: receiver.url });
  await asAdmin('POST', `/api/webhooks/${webhook.webhook.id}/test`, { event: 'webhook.test' });
  await asAdmin('PUT', `/api/webhooks/${webhook.webhook.id}`, { name: 'renamed' });
  await asAdmin('DELETE', `/api/webhooks/${webhook.webhook.id}`);
  const agent = await service.createAgent();
  const { accessToken } = await service.tokens(agent);
  await service.introspect(accessToken);
  await asAdmin('PUT', `/api/agents/${agent.id}`, { is_active: false });
  await service.introspect(accessToken);
  await asAdmin('POST', `/api/agents/${agent.id}`, { action: 'rotate' });
  await asAdmin('DELETE', `/api/agents/${agent.id}`);
  events = await allEvents(service);
});
after(async () => {
  await service.stop();
  await receiver.close();
});

test('every type of event has its row, which names every member of its data', () => {
  for (const type of eventTypes) {
    const event = events.find((one) => one.type === type);
    assert.ok(event, `${type} was not emitted`);
    const row = withSubjects(rowOf(type));
    for (const member of Object.keys(event.data))
      assert.ok(row.includes(`\`${member}\``), `${type}: ${member}`);
  }
});

test('every header of a request has its row', () => {
  const { headers } = receiver.requests[0] ?? { headers: {} };
  const own = Object.keys(headers).filter((name) => /webhook/.test(name));
  assert.ok(own.length >= 7, own.join());
  for (const name of own) assert.match(page, new RegExp(`^\\|.*\`${name}\`.*\\|`, 'm'));
});

test('every status and every failure reason has its row', async () => {
  const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as OpenapiDocument;
  const path = '/api/webhooks/{id}/deliveries/{delivery_id}/redeliver';
  const names = enumsIn(document.paths[path]?.post.responses['201']);
  for (const known of ['retrying', 'gone']) assert.ok(names.includes(known), 'the document lists them');
  for (const name of names) assert.ok(rowOf(name), name);
});

test('the retry table has the delays that are used', () => {
  let total = 0;
  for (let failed = 1; failed < DEFAULT_MAX_RETRIES; failed++) {
    const [least, most] = [0, 1].map((random) => retryDelayMilliseconds(failed, random) / 1000);
    total += least ?? 0;
    assert.match(page, new RegExp(`^\\| ${failed} \\| ${least} s to ${most} s \\| ${total} s \\|$`, 'm'));
  }
});

const rowOf = (name: string): string => new RegExp(`^\\| \`${name}\` \\|.*$`, 'm').exec(page)?.[0] ?? '';

/** The row with the members that “the agent” and “the webhook” stand for. */
function withSubjects(row: string): string {
  const agent = '`agent_id` `agent_name` `client_id` `organization_id`';
  return row.replace('the agent', agent).replace('the webhook', '`webhook_id` `webhook_name`');
}

async function asAdmin(method: string, path: string, json?: unknown) {
  const { body } = await service.call(method, path, { admin: true, ...(json !== undefined && { json }) });
  return body;
}

interface OpenapiDocument {
  paths: Record<string, { post: { responses: { '201': unknown } } }>;
}

/** The values of every enumeration in a schema. */
function enumsIn(schema: unknown): string[] {
  const values: string[] = [];
  JSON.stringify(schema, (name, value: unknown) => {
    if (name === 'enum' && Array.isArray(value))
      values.push(...value.filter((one) => typeof one === 'string'));
    return value;
  });
  return values;
}

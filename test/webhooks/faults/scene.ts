import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { TestContext } from 'node:test';
import { ADMIN, type TestService } from '../../harness.ts';
import { until } from '../../until.ts';
import type { Receiver, Seen } from './receiver.ts';

type Caller = Pick<TestService, 'call'>;

/** A webhook whose receiver is under test. */
export interface Hook {
  id: string;
  path: string;
  secret: string;
}

export interface Attempt {
  attempt: number;
  started_at: string;
  status_code: number | null;
  error: string | null;
  response_start: string | null;
}

export interface Delivery {
  id: string;
  event_id: string;
  status: string;
  attempts: number;
  last_attempt_at: string | null;
  next_attempt_at: string | null;
  failure_reason: string | null;
  attempt_history: Attempt[];
}

/** Hears of agents that are created, and of nothing else, so that arranging a scene tells it nothing. */
export async function createHook(service: Caller, url: string, maxRetries = 2): Promise<Hook> {
  const json = { name: 'receiver', url, events: ['agent.created'], max_retries: maxRetries };
  const { status, body } = await service.call('POST', '/api/webhooks', { admin: true, json });
  assert.equal(status, 201, JSON.stringify(body));
  return { id: body.webhook.id, path: `/api/webhooks/${body.webhook.id}`, secret: body.secret };
}

/** A webhook that is gone after the test. */
export async function hookTo(context: TestContext, service: TestService, url: string): Promise<Hook> {
  const hook = await createHook(service, url);
  context.after(() => service.call('DELETE', hook.path, { admin: true }));
  return hook;
}

/** One event on its way to the receiver, and what stands after its first attempt. */
export async function sendOne(
  context: TestContext,
  service: TestService,
  receiver: Receiver,
): Promise<{ hook: Hook; receiver: Receiver; first: Delivery }> {
  context.after(() => receiver.close());
  const hook = await hookTo(context, service, receiver.url);
  await service.createAgent();
  return { hook, receiver, first: await afterAttempts(service, hook, 1) };
}

/** The deliveries of a webhook, oldest first, without their attempts. */
export async function listDeliveries(
  service: Caller,
  { path }: Hook,
): Promise<Omit<Delivery, 'attempt_history'>[]> {
  const { body } = await service.call('GET', `${path}/deliveries`, { admin: true });
  return body.deliveries.toReversed();
}

/** The one delivery of a webhook, read back with its attempts. */
export async function onlyDelivery(service: Caller, hook: Hook): Promise<Delivery> {
  const [first, ...others] = await listDeliveries(service, hook);
  assert.ok(first !== undefined && others.length === 0);
  const { body } = await service.call('GET', `${hook.path}/deliveries/${first.id}`, { admin: true });
  return body.delivery;
}

/** The delivery once so many of its attempts are written down. */
export async function afterAttempts(service: Caller, hook: Hook, count: number): Promise<Delivery> {
  return until(`${count} attempts`, async () => {
    const delivery = await onlyDelivery(service, hook);
    return delivery.attempt_history.length >= count ? delivery : null;
  });
}

/** Lets the next attempt of a delivery come, and waits until it is written down. */
export async function nextAttempt(service: TestService, hook: Hook): Promise<Delivery> {
  const { attempts, next_attempt_at } = await onlyDelivery(service, hook);
  assert.ok(next_attempt_at !== null, 'it has ended already');
  service.clock.advanceTo(Date.parse(next_attempt_at));
  return afterAttempts(service, hook, attempts + 1);
}

/** The same event in the same bytes each time, each time signed anew. */
export function assertSameEventSignedAfresh(seen: readonly Seen[], { secret }: Hook): void {
  const timestamps = seen.map(({ headers }) => headers['webhook-timestamp']);
  assert.equal(new Set(timestamps).size, seen.length);
  assert.equal(new Set(seen.map(({ headers }) => headers['webhook-signature'])).size, seen.length);
  assert.ok(seen.every(({ body }) => seen[0]?.body.equals(body)));
  for (const { headers, body } of seen) {
    const id = headers['webhook-id'];
    assert.equal(JSON.parse(body.toString()).id, id);
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const signed = createHmac('sha256', key).update(`${id}.${headers['webhook-timestamp']}.`).update(body);
    assert.equal(headers['webhook-signature'], `v1,${signed.digest('base64')}`);
    const digest = createHmac('sha256', secret).update(body).digest('hex');
    assert.equal(headers['x-webhook-signature-256'], `sha256=${digest}`);
  }
}

/** Neither what the service logged nor what it shows of the delivery holds the secret or a signature. */
export function assertNothingSecret(
  service: Pick<TestService, 'logLines'>,
  hook: Hook,
  { delivery, seen }: { delivery: Delivery; seen: readonly Seen[] },
): void {
  assert.ok(service.logLines.length > 0);
  const told = service.logLines.join('') + JSON.stringify(delivery);
  const signatures = seen.flatMap(({ headers }) => [
    String(headers['x-webhook-signature']),
    String(headers['webhook-signature']).slice('v1,'.length),
  ]);
  for (const secret of [hook.secret.slice('whsec_'.length), ADMIN.password, ...signatures]) {
    assert.ok(secret.length > 10 && !told.includes(secret));
  }
}

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, type TestContext, test } from 'node:test';
import { startService, type TestService } from '../../harness.ts';
import { until } from '../../until.ts';
import { answer, type Receiver, startReceiver } from './receiver.ts';
import { createHook, type Hook, hookTo, listDeliveries } from './scene.ts';

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.stop());

/** Keeps requests waiting until the test lets them go, and knows how many there were at once. */
interface Holder {
  receiver: Receiver;
  held: ServerResponse[];
  peak: number;
  release(status: number): void;
}

async function startHolder(context: TestContext): Promise<Holder> {
  const held: ServerResponse[] = [];
  const receiver = await startReceiver((response) => {
    held.push(response);
    holder.peak = Math.max(holder.peak, held.length);
  });
  const release = (status: number) => void held.shift()?.writeHead(status).end();
  const holder: Holder = { receiver, held, peak: 0, release };
  context.after(() => receiver.close());
  return holder;
}

/** A healthy receiver beside it: what it has got shows that the engine has looked for work since. */
async function startWitness(context: TestContext): Promise<Receiver> {
  const receiver = await startReceiver(answer(200));
  context.after(() => receiver.close());
  await hookTo(context, service, receiver.url);
  return receiver;
}

async function createAgents(count: number): Promise<void> {
  for (let made = 0; made < count; made++) await service.createAgent();
}

async function statusesOf(hook: Hook): Promise<string[]> {
  return (await listDeliveries(service, hook)).map(({ status }) => status);
}

async function releaseAll({ receiver, held, release }: Holder, count: number): Promise<void> {
  await until('all requests', () => {
    release(200);
    return receiver.seen.length === count && held.length === 0;
  });
}

test('a webhook has four requests under way at the most, and the next follow as these end', async (t) => {
  const witness = await startWitness(t);
  const holder = await startHolder(t);
  const hook = await hookTo(t, service, holder.receiver.url);
  await createAgents(10);
  await until('four requests', () => witness.seen.length === 10 && holder.held.length === 4);
  await releaseAll(holder, 10);
  assert.equal(holder.peak, 4);
  await until('the end', async () => (await statusesOf(hook)).every((status) => status === 'delivered'));
});

test('sixty-four requests are under way at the most, to all webhooks together', async (t) => {
  const holder = await startHolder(t);
  const hooks: Hook[] = [];
  for (let made = 0; made < 20; made++) hooks.push(await hookTo(t, service, holder.receiver.url));
  await createAgents(4);
  await until('sixty-four requests', () => holder.held.length >= 64);
  await createAgents(1);
  await releaseAll(holder, 100);
  assert.equal(holder.peak, 64);
  for (const hook of hooks) {
    await until('the end', async () => (await statusesOf(hook)).every((status) => status === 'delivered'));
  }
});

test('a webhook whose last five attempts failed is probed by one request at a time', async (t) => {
  const witness = await startWitness(t);
  const holder = await startHolder(t);
  const hook = await createHook(service, holder.receiver.url, 10);
  t.after(() => service.call('DELETE', hook.path, { admin: true }));
  await createAgents(5);
  await until('five failures', async () => {
    holder.release(500);
    return (await statusesOf(hook)).filter((status) => status === 'retrying').length === 5;
  });

  holder.peak = 0;
  const dueAt = (await listDeliveries(service, hook)).map((one) => Date.parse(String(one.next_attempt_at)));
  service.clock.advanceTo(Math.max(...dueAt));
  for (let probe = 1; probe <= 3; probe++) {
    await createAgents(2);
    await until('a probe', () => witness.seen.length === 5 + 2 * probe && holder.held.length > 0);
    assert.equal(holder.receiver.seen.length, 5 + probe);
    holder.release(500);
  }
  await until('one more probe', () => holder.held.length > 0);
  assert.equal(holder.peak, 1);
});

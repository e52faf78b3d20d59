import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { adminEnv, type Child, childFolder, startChild } from '../child.ts';
import { freePort } from '../free-port.ts';
import { send } from '../harness.ts';
import { until } from '../until.ts';
import { type Receiver, startReceiver } from '../webhooks/faults/receiver.ts';

const CALLERS = 6;
/** So many acknowledged changes before a kill amid sending, so many answers before a kill behind the last of them. */
const CHANGES = 40;
const ANSWERS = 30;
const MOMENTS = ['while sending', 'after the 2xx', 'while sending'] as const;

/** What the receivers saw, and in which life of the process. */
interface Request {
  life: number;
  delivery: string;
  agent: string;
}

interface Target {
  receiver: Receiver;
  requests: Request[];
  id: string;
}

interface Delivery {
  id: string;
  status: string;
  attempts: number;
  max_attempts: number;
}

const folder = childFolder();
let port: number;
let life = 0;
let onRequest: (response: ServerResponse) => void;
const targets: Target[] = [];
const acknowledged: string[] = [];

async function startTarget(): Promise<Target> {
  const requests: Request[] = [];
  const receiver = await startReceiver((response, _, { headers, body }) => {
    const { data } = JSON.parse(body.toString());
    requests.push({ life, delivery: String(headers['x-webhook-delivery']), agent: data.agent_id });
    onRequest(response);
  });
  return { receiver, requests, id: '' };
}

before(async () => {
  port = await freePort();
  for (let made = 0; made < 3; made++) targets.push(await startTarget());
});
after(async () => {
  await folder.remove();
  for (const { receiver } of targets) await receiver.close();
});

const start = (): Promise<Child> => startChild({ folder, port, env: adminEnv });

/** The last one has one attempt for each delivery: what a kill cuts short must not come again. */
async function createWebhooks({ url }: Child): Promise<void> {
  for (const [index, target] of targets.entries()) {
    const maxRetries = index === targets.length - 1 ? 1 : 10;
    const json = {
      name: 'crash',
      url: target.receiver.url,
      events: ['agent.created'],
      max_retries: maxRetries,
    };
    const { body } = await send(url, 'POST', '/api/webhooks', { admin: true, json });
    target.id = body.webhook.id;
  }
}

/** Creates agents until the process is gone; what a caller meets then is the broken connection. */
async function caller(child: Child, changes: string[]): Promise<void> {
  for (;;) {
    const options = { admin: true, json: { name: 'crash' } } as const;
    const answer = await send(child.url, 'POST', '/api/agents', options);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    acknowledged.push(answer.body.agent.id);
    changes.push(answer.body.agent.id);
  }
}

/** One life of the process under load, ended at the moment by SIGKILL. */
async function liveUntilKilled(moment: (typeof MOMENTS)[number]): Promise<void> {
  let answers = 0;
  const held: ServerResponse[] = [];
  const changes: string[] = [];
  life += 1;
  onRequest = (response) => held.push(response);
  const child = await start();
  if (life === 1) await createWebhooks(child);
  if (moment === 'after the 2xx') {
    onRequest = (response) => {
      response.once('finish', () => {
        answers += 1;
        if (answers === ANSWERS) child.process.kill('SIGKILL');
      });
      response.writeHead(200).end();
    };
    for (const response of held) onRequest(response);
  }
  const callers = Promise.allSettled(Array.from({ length: CALLERS }, () => caller(child, changes)));
  if (moment === 'while sending') {
    await until('load', () => changes.length >= CHANGES && held.length >= 4);
    child.process.kill('SIGKILL');
  }
  for (const end of await callers) {
    assert.ok(end.status === 'rejected' && end.reason instanceof TypeError, String(Object.values(end)));
  }
  assert.equal((await child.exited).signal, 'SIGKILL');
}

async function deliveriesOf({ url }: Child, { id }: Target): Promise<Delivery[]> {
  const { body } = await send(url, 'GET', `/api/webhooks/${id}/deliveries`, { admin: true });
  assert.equal('next_cursor' in body, false);
  return body.deliveries;
}

const isFinal = ({ status }: Delivery): boolean => status !== 'pending' && status !== 'retrying';

async function settledDeliveries(child: Child, target: Target): Promise<Delivery[]> {
  const ended = async () => {
    const deliveries = await deliveriesOf(child, target);
    return deliveries.every(isFinal) ? deliveries : null;
  };
  return until('deliveries to end', ended);
}

const requestsOf = ({ requests }: Target, { id }: Delivery): Request[] =>
  requests.filter(({ delivery }) => delivery === id);

/** A second request is for an attempt that a kill cut short: no life sends anything twice, nor what was written down. */
async function assertRepeatedForKillsOnly(child: Child, target: Target, delivery: Delivery): Promise<void> {
  const requests = requestsOf(target, delivery);
  assert.equal(new Set(requests.map((request) => request.life)).size, requests.length);
  assert.ok(requests.length <= delivery.attempts && delivery.attempts <= delivery.max_attempts);
  if (requests.length < 2) return;
  const path = `/api/webhooks/${target.id}/deliveries/${delivery.id}`;
  const { attempt_history } = (await send(child.url, 'GET', path, { admin: true })).body.delivery;
  assert.equal(attempt_history.length, 1);
}

test(`kill -9 ${MOMENTS.length} times under load, while sending and after the 2xx: nothing is lost, and repeated is only what was under way`, async () => {
  for (const moment of MOMENTS) await liveUntilKilled(moment);
  life += 1;
  onRequest = (response) => response.writeHead(200).end();
  const child = await start();
  const agents = (await send(child.url, 'GET', '/api/agents', { admin: true })).body.agents;
  const existing: string[] = agents.map(({ id }: { id: string }) => id).sort();
  assert.ok(acknowledged.length >= CHANGES * 2 && acknowledged.every((id) => existing.includes(id)));

  for (const target of targets) {
    const deliveries = await settledDeliveries(child, target);
    assert.equal(deliveries.length, existing.length);
    for (const delivery of deliveries) await assertRepeatedForKillsOnly(child, target, delivery);
  }
  for (const target of targets.slice(0, -1)) {
    const deliveries = await deliveriesOf(child, target);
    assert.ok(deliveries.every(({ status }) => status === 'delivered'));
    const heard = new Set(target.requests.map(({ agent }) => agent));
    assert.deepEqual([...heard].sort(), existing);
    assert.ok(deliveries.some((delivery) => requestsOf(target, delivery).length === 2));
  }
  assert.equal((await child.kill('SIGTERM')).code, 0);
});

test('an only attempt that a kill cut short is not made again: the delivery is dead', async () => {
  const target = targets.at(-1) as Target;
  const child = await start();
  const deliveries = await deliveriesOf(child, target);
  const cutShort = deliveries.filter(({ status }) => status === 'dead');
  assert.ok(cutShort.length > 0 && cutShort.some((delivery) => requestsOf(target, delivery).length === 1));
  for (const delivery of deliveries) {
    assert.ok(['dead', 'delivered'].includes(delivery.status));
    assert.equal(delivery.attempts, 1);
    assert.ok(requestsOf(target, delivery).length <= 1);
  }
  assert.equal((await child.kill('SIGTERM')).code, 0);
});

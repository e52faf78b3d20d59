import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { failValidations, inParallel, type Receiver, startReceiver, subscribe } from './receiver.ts';
import { type Signet, startSignet, withFolder } from './signet.ts';
import { printTable, quantile } from './table.ts';
import { readUsage, usageSince } from './usage.ts';

/**
 * Webhooks over loopback HTTP, durable and with their history: how long after the answered API call the request is at
 * the receiver, and how many a second, beside bare POSTs of the same size in the same run. The receiver runs in this
 * process, so that one clock times both ends.
 */

const { values: options } = parseArgs({
  options: { samples: { type: 'string', default: '5' }, events: { type: 'string', default: '300' } },
});
const samples = Number(options.samples);
const events = Number(options.events);
const WEBHOOKS = 16;
const IN_FLIGHT = 64;
const LATENCIES = 300;

async function main(folder: string): Promise<void> {
  const service = await startSignet({ database: 'sqlite', folder });
  const receiver = await startReceiver();
  try {
    const latencies = await measureLatencies(service, receiver);
    const taken: { ceiling: number; perSecond: number; cpuMicroseconds: number | null }[] = [];
    await subscribe(service, receiver, { count: WEBHOOKS, event: 'token.validation_failed' });
    for (let index = 0; index < samples; index++) {
      const before = await barePostsPerSecond(receiver);
      const deliveries = await deliver(service, receiver);
      const after = await barePostsPerSecond(receiver);
      taken.push({ ceiling: (before + after) / 2, ...deliveries });
    }
    printTable(`${WEBHOOKS} webhooks, ${events * WEBHOOKS} deliveries a sample, ${samples} samples`, [
      {
        name: 'from the answered call to the receiver, p50',
        unit: 'ms',
        figures: [quantile(latencies, 0.5)],
      },
      {
        name: 'from the answered call to the receiver, p99',
        unit: 'ms',
        figures: [quantile(latencies, 0.99)],
      },
      { name: 'bare POSTs/s', unit: '', figures: taken.map(({ ceiling }) => ceiling) },
      { name: 'deliveries/s', unit: '', figures: taken.map(({ perSecond }) => perSecond) },
      {
        name: '  beside bare POSTs',
        unit: '×',
        figures: taken.map(({ ceiling, perSecond }) => perSecond / ceiling),
      },
      {
        name: 'CPU of the service per delivery',
        unit: 'µs',
        figures: taken.flatMap(({ cpuMicroseconds }) => cpuMicroseconds ?? []),
      },
    ]);
  } finally {
    await service.stop();
    receiver.close();
  }
}

/** One event at a time, on a service that has nothing else to do. */
async function measureLatencies(service: Signet, receiver: Receiver): Promise<number[]> {
  await subscribe(service, receiver, { count: 1, event: 'agent.created' });
  const latencies: number[] = [];
  for (let index = 0; index < LATENCIES; index++) {
    receiver.arrivals.length = 0;
    await service.admin('POST', '/api/agents', { name: `bench ${index}` });
    const answered = performance.now();
    while (receiver.arrivals.length === 0) await sleep(1);
    latencies.push(Math.max(0, (receiver.arrivals[0]?.at ?? 0) - answered));
  }
  return latencies.sort((a, b) => a - b);
}

/** Each event goes to every webhook. */
async function deliver(
  service: Signet,
  receiver: Receiver,
): Promise<{ perSecond: number; cpuMicroseconds: number | null }> {
  receiver.arrivals.length = 0;
  const deliveries = events * WEBHOOKS;
  const before = readUsage(service.pid);
  const started = performance.now();
  await failValidations(service, { width: 8, count: events });
  while (receiver.arrivals.length < deliveries) await sleep(5);
  const last = receiver.arrivals.at(-1)?.at ?? started;
  await sleep(200);
  const usage = usageSince(before, readUsage(service.pid));
  return {
    perSecond: deliveries / ((last - started) / 1000),
    cpuMicroseconds: usage === null ? null : usage.all / deliveries,
  };
}

const BODY = JSON.stringify({ id: 'evt_', data: { reason: 'x'.repeat(120) } });

async function barePostsPerSecond(receiver: Receiver): Promise<number> {
  const pool = new Pool(receiver.origin, { connections: IN_FLIGHT });
  const headers = { 'content-type': 'application/json', 'x-webhook-signature-256': 'x'.repeat(300) };
  const started = performance.now();
  await inParallel(IN_FLIGHT, events * WEBHOOKS, async () => {
    const { body } = await pool.request({ method: 'POST', path: '/', headers, body: BODY });
    await body.dump();
  });
  const seconds = (performance.now() - started) / 1000;
  await pool.close();
  return (events * WEBHOOKS) / seconds;
}

await withFolder(main);

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { failValidations, type Receiver, startReceiver, subscribe } from './receiver.ts';
import { type Signet, startSignet, withFolder } from './signet.ts';
import { printTable } from './table.ts';

/**
 * What a receiver that hangs, with a long backlog, costs the others: how long after the answered API call an event is
 * at all of fifty healthy receivers, before the backlog stands and while it does.
 */

const { values: options } = parseArgs({
  options: { backlog: { type: 'string', default: '100000' }, events: { type: 'string', default: '60' } },
});
const backlog = Number(options.backlog);
const events = Number(options.events);
const HEALTHY = 50;

async function main(folder: string): Promise<void> {
  const service = await startSignet({ database: 'sqlite', folder });
  const healthy = await startReceiver();
  const hanging = await startReceiver({ isHanging: true });
  try {
    await subscribe(service, healthy, { count: HEALTHY, event: 'agent.created' });
    await measure(service, healthy);
    const without = await measure(service, healthy);
    await subscribe(service, hanging, { count: 1, event: 'token.validation_failed' });
    await failValidations(service, { width: 16, count: backlog });
    const beside = await measure(service, healthy);
    printTable(
      `${HEALTHY} healthy webhooks, ${events} events, ${backlog} deliveries waiting for one that hangs`,
      [
        { name: 'to the last of the healthy, no backlog', unit: 'ms', figures: without },
        { name: 'to the last of the healthy, beside the backlog', unit: 'ms', figures: beside },
      ],
    );
  } finally {
    await service.stop();
    healthy.close();
    hanging.close();
  }
}

async function measure(service: Signet, receiver: Receiver): Promise<number[]> {
  const latencies: number[] = [];
  for (let index = 0; index < events; index++) {
    receiver.arrivals.length = 0;
    await service.admin('POST', '/api/agents', { name: `bench ${index}` });
    const answered = performance.now();
    while (receiver.arrivals.length < HEALTHY) await sleep(1);
    latencies.push((receiver.arrivals.at(-1)?.at ?? answered) - answered);
  }
  return latencies;
}

await withFolder(main);

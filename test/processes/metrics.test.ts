import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../src/metrics.ts';
import type { Snapshot } from '../../src/processes/messages.ts';
import { addUp } from '../../src/processes/metrics-exchange.ts';

/** Of a process that has introspected so often, and of what waits. */
async function snapshotOf(introspections: number, waiting: number): Promise<Snapshot> {
  const metrics = createMetrics();
  metrics.watchDeliveries(() => ({ waiting, oldestDueSeconds: waiting }));
  for (let done = 0; done < introspections; done++)
    await metrics.introspection(async () => ({ active: true }));
  // As it is sent from process to process.
  return JSON.parse(JSON.stringify(await metrics.snapshot()));
}

async function textOf(...snapshots: Snapshot[]): Promise<(line: string) => string | undefined> {
  const text = await createMetrics(async () => snapshots).text();
  return (line) =>
    text
      .split('\n')
      .find((each) => each.startsWith(`${line} `))
      ?.slice(line.length + 1);
}

test('what is counted is summed over the processes, and what all of them see is not', async () => {
  const read = await textOf(await snapshotOf(2, 7), await snapshotOf(3, 6));
  assert.equal(read('signet_introspections_total{active="true"}'), '5');
  assert.equal(read('signet_introspection_duration_seconds_count'), '5');
  assert.equal(read('signet_introspection_duration_seconds_bucket{le="+Inf"}'), '5');
  assert.equal(read('signet_processes'), '2');
  assert.equal(read('signet_webhook_deliveries_waiting'), '7');
  assert.equal(read('signet_webhook_oldest_due_seconds'), '7');
});

test('what ended processes have counted counts on, and nothing else of them', async () => {
  const ofEnded = addUp(addUp([], await snapshotOf(1, 9)), await snapshotOf(2, 9));
  const read = await textOf(await snapshotOf(4, 1), ofEnded);
  assert.equal(read('signet_introspections_total{active="true"}'), '7');
  assert.equal(read('signet_introspection_duration_seconds_bucket{le="+Inf"}'), '7');
  assert.equal(read('signet_processes'), '1');
  assert.equal(read('signet_webhook_deliveries_waiting'), '1');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { every } from '../../src/workers/worker.ts';
import { TestClock } from '../clock.ts';

const INTERVAL = 60_000;

/** A worker whose runs the test begins, by moving the clock, and ends. */
function aWorker() {
  const clock = new TestClock();
  const tick = (milliseconds: number) => clock.advance({ milliseconds });
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => lines.push(line) });
  const runs: PromiseWithResolvers<void>[] = [];
  const runOnce = () => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  };
  const worker = every({ name: 'test', clock, intervalMs: INTERVAL, runOnce, log });
  return { worker, runs, lines, tick };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a worker runs once an interval, counted from the end of the run before', async () => {
  const { worker, runs, tick } = aWorker();
  worker.start();
  tick(INTERVAL - 1);
  assert.equal(runs.length, 0);
  tick(1);
  assert.equal(runs.length, 1);
  tick(INTERVAL * 5);
  assert.equal(runs.length, 1);
  runs[0]?.resolve();
  await settled();
  tick(INTERVAL);
  assert.equal(runs.length, 2);
});

test('a worker that is started twice runs once', async () => {
  const { worker, runs, tick } = aWorker();
  worker.start();
  worker.start();
  tick(INTERVAL);
  assert.equal(runs.length, 1);
});

test('stopping waits for the run under way, however often it is asked, and begins no other', async () => {
  const { worker, runs, tick } = aWorker();
  worker.start();
  tick(INTERVAL);
  let stopped = 0;
  const stops = [worker.stop(), worker.stop()].map((stop) =>
    stop.then(() => {
      stopped += 1;
    }),
  );
  await settled();
  assert.equal(stopped, 0);
  runs[0]?.resolve();
  await Promise.all(stops);
  tick(INTERVAL * 2);
  assert.equal(runs.length, 1);
});

test('a worker that never started, or has stopped, stops at once', async () => {
  const { worker } = aWorker();
  await worker.stop();
  await worker.stop();
});

test('a stopped worker can be started again', async () => {
  const { worker, runs, tick } = aWorker();
  worker.start();
  await worker.stop();
  worker.start();
  tick(INTERVAL);
  assert.equal(runs.length, 1);
});

test('a run that fails is logged with the worker’s name and tried again', async () => {
  const { worker, runs, lines, tick } = aWorker();
  worker.start();
  tick(INTERVAL);
  runs[0]?.reject(new Error('the database is away'));
  await settled();
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /"worker":"test"/);
  tick(INTERVAL);
  assert.equal(runs.length, 2);
});

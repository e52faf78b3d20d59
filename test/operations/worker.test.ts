import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { every } from '../../src/workers/worker.ts';

const INTERVAL = 60_000;

/** A worker whose runs the test begins, by moving the timers, and ends. */
function aWorker() {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => lines.push(line) });
  const runs: PromiseWithResolvers<void>[] = [];
  const runOnce = () => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  };
  return { worker: every({ name: 'test', intervalMs: INTERVAL, runOnce, log }), runs, lines };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a worker runs once an interval, counted from the end of the run before', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { worker, runs } = aWorker();
  worker.start();
  t.mock.timers.tick(INTERVAL - 1);
  assert.equal(runs.length, 0);
  t.mock.timers.tick(1);
  assert.equal(runs.length, 1);
  t.mock.timers.tick(INTERVAL * 5);
  assert.equal(runs.length, 1);
  runs[0]?.resolve();
  await settled();
  t.mock.timers.tick(INTERVAL);
  assert.equal(runs.length, 2);
});

test('a worker that is started twice runs once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { worker, runs } = aWorker();
  worker.start();
  worker.start();
  t.mock.timers.tick(INTERVAL);
  assert.equal(runs.length, 1);
});

test('stopping waits for the run under way, however often it is asked, and begins no other', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { worker, runs } = aWorker();
  worker.start();
  t.mock.timers.tick(INTERVAL);
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
  t.mock.timers.tick(INTERVAL * 2);
  assert.equal(runs.length, 1);
});

test('a worker that never started, or has stopped, stops at once', async () => {
  const { worker } = aWorker();
  await worker.stop();
  await worker.stop();
});

test('a stopped worker can be started again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { worker, runs } = aWorker();
  worker.start();
  await worker.stop();
  worker.start();
  t.mock.timers.tick(INTERVAL);
  assert.equal(runs.length, 1);
});

test('a run that fails is logged with the worker’s name and tried again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { worker, runs, lines } = aWorker();
  worker.start();
  t.mock.timers.tick(INTERVAL);
  runs[0]?.reject(new Error('the database is away'));
  await settled();
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /"worker":"test"/);
  t.mock.timers.tick(INTERVAL);
  assert.equal(runs.length, 2);
});

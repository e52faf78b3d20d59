import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { MetricsExchange } from '../../src/processes/metrics-exchange.ts';
import { StartFailed, Supervisor } from '../../src/processes/supervisor.ts';
import type { End, WorkerProcess } from '../../src/processes/worker-process.ts';
import { TestClock } from '../clock.ts';

const CRASH: End = { code: 1, signal: null };
const administrator = { email: 'admin@localhost', generatedPassword: null };

interface Actor extends WorkerProcess {
  listen(): void;
  end(how: End): void;
}

function createActor(pid: number): Actor {
  const listening = Promise.withResolvers<typeof administrator>();
  const ended = Promise.withResolvers<End>();
  return {
    pid,
    listening: listening.promise,
    ended: ended.promise,
    listen: () => listening.resolve(administrator),
    end: ended.resolve,
    tell: (message) => {
      if (message.kind === 'stop') ended.resolve({ code: 0, signal: null });
    },
    onMessage: () => {},
    kill: () => ended.resolve({ code: null, signal: 'SIGKILL' }),
  };
}

/** A supervisor whose workers do what the test says, at the time that it says. */
function createStage(size: number) {
  const clock = new TestClock();
  const actors: Actor[] = [];
  const supervisor = new Supervisor({
    clock,
    size,
    log: pino({ level: 'silent' }),
    exchange: new MetricsExchange({ clock }),
    fork() {
      const actor = createActor(actors.length);
      actors.push(actor);
      return actor;
    },
  });
  return { clock, actors, supervisor, last: () => actors.at(-1) as Actor };
}

async function startedStage() {
  const stage = createStage(1);
  const started = stage.supervisor.start();
  stage.last().listen();
  await started;
  return stage;
}

test('the first worker starts alone, and the others when it listens', async () => {
  const { actors, supervisor } = createStage(3);
  const started = supervisor.start();
  assert.equal(actors.length, 1);
  actors[0]?.listen();
  await turn();
  assert.equal(actors.length, 3);
  actors[1]?.listen();
  actors[2]?.listen();
  assert.deepEqual(await started, administrator);
});

test('a worker that ends while the service starts is the end of the start', async () => {
  const { actors, supervisor } = createStage(2);
  const started = supervisor.start();
  actors[0]?.listen();
  await turn();
  actors[1]?.end(CRASH);
  await assert.rejects(started, StartFailed);
  assert.equal(await supervisor.stop(), true);
  assert.equal(actors.length, 2);
});

test('who dies again and again is replaced ever later, after ten seconds at most, without end', async () => {
  const { clock, actors, last } = await startedStage();
  for (const delay of [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000]) {
    const count = actors.length;
    last().end(CRASH);
    await turn();
    clock.advance({ milliseconds: delay - 1 });
    assert.equal(actors.length, count, `before ${delay} ms`);
    clock.advance({ milliseconds: 1 });
    assert.equal(actors.length, count + 1, `after ${delay} ms`);
  }
});

test('who has lived for a while is replaced soon, whatever went before', async () => {
  const { clock, actors, last } = await startedStage();
  for (const delay of [100, 200, 400]) {
    last().end(CRASH);
    await turn();
    clock.advance({ milliseconds: delay });
  }
  clock.advance({ seconds: 30 });
  last().end(CRASH);
  await turn();
  clock.advance({ milliseconds: 100 });
  assert.equal(actors.length, 5);
});

test('a successor that does not start changes nothing', async () => {
  const { actors, supervisor, last } = await startedStage();
  supervisor.replaceAll();
  await turn();
  assert.equal(actors.length, 2);
  last().end(CRASH);
  await turn();
  supervisor.replaceAll();
  await turn();
  assert.equal(actors.length, 3);
  const isOver = await Promise.race([actors[0]?.ended.then(() => true), turn(false)]);
  assert.equal(isOver, false);
});

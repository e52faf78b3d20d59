import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { adminEnv, type Child, type ChildFolder, childFolder, runChild, startChild } from '../child.ts';
import { freePort } from '../free-port.ts';
import { send } from '../harness.ts';
import { type Receiver, startReceiver } from '../webhooks/faults/receiver.ts';
import { Caller, Unknown } from './caller.ts';
import { assertConsistent, assertEnded, type History } from './history.ts';

interface Options {
  seconds: number;
  /** It lasts until so much was acknowledged, however busy the machine is. */
  leastAcknowledged: number;
  random: () => number;
  /** How long a life may last until the kill. */
  longestLifeSeconds: number;
  /** Waits for every event in the end, which takes as long as the retries do. */
  waitsForEvents: boolean;
  onKill?: (report: Report) => void;
}

export interface Report {
  kills: number;
  killsWhileStarting: number;
  acknowledged: Record<string, number>;
  unknown: number;
  agents: number;
  requestsToReceiver: number;
  repeated: number;
}

const CALLERS = 6;
const MAX_RETRIES = 12;
/** The longest of its retries comes after as much. */
const EVENTS_SECONDS = 150;

/**
 * Mixed load while the process is killed at random moments and started again, and a history of every answer: nothing that
 * was acknowledged is lost, nothing that was revoked lives, counters never fall.
 */
export async function chaos(options: Options): Promise<Report> {
  const folder = childFolder();
  const receiver = await startReceiver((response) => {
    response.writeHead(options.random() < 0.1 ? 500 : 204).end();
  });
  try {
    return await new Chaos(options, folder, receiver, await freePort()).run();
  } finally {
    await folder.remove();
    await receiver.close();
  }
}

class Chaos {
  readonly #options: Options;
  readonly #folder: ChildFolder;
  readonly #receiver: Receiver;
  readonly #port: number;
  readonly #callers: Caller[];
  readonly #report: Report = {
    kills: 0,
    killsWhileStarting: 0,
    acknowledged: {},
    unknown: 0,
    agents: 0,
    requestsToReceiver: 0,
    repeated: 0,
  };

  constructor(options: Options, folder: ChildFolder, receiver: Receiver, port: number) {
    this.#options = options;
    this.#folder = folder;
    this.#receiver = receiver;
    this.#port = port;
    const { acknowledged } = this.#report;
    const onAcknowledged = (kind: string) => {
      acknowledged[kind] = (acknowledged[kind] ?? 0) + 1;
    };
    const url = () => `http://127.0.0.1:${port}`;
    const deps = { url, random: options.random, onAcknowledged };
    this.#callers = Array.from({ length: CALLERS }, () => new Caller(deps));
  }

  async run(): Promise<Report> {
    const end = performance.now() + this.#options.seconds * 1000;
    let child = await this.#start();
    await this.#subscribe(child.url);
    do {
      await this.#liveUntilKilled(child);
      this.#options.onKill?.(this.#report);
      if (this.#options.random() < 0.2) await this.#killWhileStarting();
      child = await this.#start();
      await this.#assertAll(child.url, assertConsistent);
    } while (performance.now() < end || this.#acknowledged() < this.#options.leastAcknowledged);
    await this.#assertAll(child.url, assertEnded);
    await this.#assertAudit();
    await this.#assertDeliveries(child.url);
    assert.equal((await child.kill('SIGTERM')).code, 0);
    return this.#report;
  }

  #acknowledged(): number {
    return Object.values(this.#report.acknowledged).reduce((sum, count) => sum + count, 0);
  }

  #start(): Promise<Child> {
    const env = { ...adminEnv, SIGNET_LOG_LEVEL: 'fatal' };
    return startChild({ folder: this.#folder, port: this.#port, env });
  }

  async #liveUntilKilled(child: Child): Promise<void> {
    let isOver = false;
    const run = async (caller: Caller): Promise<void> => {
      while (!isOver) {
        try {
          await caller.step();
        } catch (error) {
          if (!(error instanceof Unknown)) throw error;
          this.#report.unknown += 1;
          if (child.process.exitCode !== null || child.process.signalCode !== null) return;
        }
      }
    };
    const running = Promise.all(this.#callers.map(run));
    const life = (0.1 + 0.9 * this.#options.random()) * this.#options.longestLifeSeconds;
    // What a caller finds wrong ends it at once.
    await Promise.race([running, wait(life * 1000)]);
    child.process.kill('SIGKILL');
    await child.exited;
    isOver = true;
    await running;
    this.#report.kills += 1;
  }

  /** Anywhere between the first line of the program and the first request. */
  async #killWhileStarting(): Promise<void> {
    const starting = this.#start().catch(() => null);
    await wait(this.#options.random() * 1000);
    this.#folder.children.at(-1)?.kill('SIGKILL');
    await starting;
    this.#report.killsWhileStarting += 1;
  }

  async #assertAll(url: string, check: (url: string, history: History) => Promise<void>): Promise<void> {
    await Promise.all(
      this.#callers.map(async ({ agents, retired }) => {
        for (const history of [...agents, ...retired.slice(-4)]) await check(url, history);
      }),
    );
  }

  async #assertAudit(): Promise<void> {
    const verified = await runChild({ folder: this.#folder, arguments: ['audit', 'verify'] });
    assert.equal(verified.code, 0, verified.stderr);
  }

  async #subscribe(url: string): Promise<void> {
    const json = {
      name: 'chaos',
      url: this.#receiver.url,
      events: ['agent.created'],
      max_retries: MAX_RETRIES,
    };
    assert.equal((await send(url, 'POST', '/api/webhooks', { admin: true, json })).status, 201);
  }

  async #assertDeliveries(url: string): Promise<void> {
    const created = this.#callers.flatMap((caller) => caller.created);
    const isHeard = () => {
      const heard = new Set(this.#receiver.seen.map(({ body }) => JSON.parse(body.toString()).data.agent_id));
      return created.every((id) => heard.has(id));
    };
    const end = performance.now() + EVENTS_SECONDS * 1000;
    while (this.#options.waitsForEvents && !isHeard() && performance.now() < end) await wait(500);
    assert.ok(!this.#options.waitsForEvents || isHeard(), 'an event never came');
    this.#report.agents = created.length;
    this.#report.requestsToReceiver = this.#receiver.seen.length;
    this.#report.repeated = await this.#assertAttempts(url);
  }

  /** No delivery was sent more often than it may be; answers how many requests were repetitions. */
  async #assertAttempts(url: string): Promise<number> {
    const requests = Map.groupBy(this.#receiver.seen, ({ headers }) => headers['x-webhook-delivery']);
    for (const [delivery, all] of requests) assert.ok(all.length <= MAX_RETRIES, String(delivery));
    const [webhook] = (await send(url, 'GET', '/api/webhooks', { admin: true })).body.webhooks;
    const path = `/api/webhooks/${webhook.id}/deliveries`;
    const { deliveries } = (await send(url, 'GET', path, { admin: true })).body;
    for (const { id, attempts } of deliveries) {
      assert.ok((requests.get(id)?.length ?? 0) <= attempts && attempts <= MAX_RETRIES, id);
    }
    return this.#receiver.seen.length - requests.size;
  }
}

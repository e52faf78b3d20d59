import type { Logger } from 'pino';
import { type Database, DatabaseUnavailable, type Queries } from '../db/database.ts';
import type { OutageWatch } from '../db/outage-watch.ts';
import { toLogEntry } from '../errors.ts';
import type { Worker } from '../workers/worker.ts';
import type { ClaimedAttempt, FinishedAttempt, MakeAttempt } from './attempt.ts';
import { handBack } from './deliveries.store.ts';
import type { Claim, ClaimedDelivery, DueWebhook } from './queue.store.ts';
import { dealSlots, freeSlots, SLOT_LIMITS } from './send-slots.ts';
import type { Sender } from './sender.ts';
import { type SettleDeps, settle } from './settle.ts';
import { isProbed, type Webhook } from './webhook.ts';

interface Deps extends SettleDeps {
  database: Database;
  sender: Sender;
  makeAttempt: MakeAttempt;
  log: Logger;
  /** Makes little noise of what an outage explains. */
  outages?: Pick<OutageWatch, 'levelOf'>;
}

/** Longer than an exchange may take: whoever finds a claim older than this knows that its holder is gone. */
export const LEASE_MILLISECONDS = 15_000;
/** How long it sleeps at the most; deliveries of other processes and ended leases are found then. */
const LONGEST_SLEEP_MILLISECONDS = 15_000;
const AFTER_FAILURE_MILLISECONDS = 1000;
const FINISH_MILLISECONDS = 7000;

/**
 * Sends what is due: woken by commits that wrote deliveries, by exchanges that end, and by the clock when the earliest
 * waiting delivery is due. It takes only what it has slots for, so that what waits stays in the database.
 */
export class DeliverWorker implements Worker {
  readonly #deps: Deps;
  readonly #inFlight = new Map<string, number>();
  readonly #sending = new Set<Promise<void>>();
  /** Over, and not written down yet. */
  #finished: FinishedAttempt[] = [];
  #state: 'stopped' | 'running' | 'stopping' = 'stopped';
  #pumping: Promise<void> | null = null;
  #isWoken = false;
  #callOff: () => void = () => {};
  #turn = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  start(): void {
    if (this.#state !== 'stopped') return;
    this.#state = 'running';
    this.wake();
  }

  /** Something may be due, or a slot may be free. Cheap, and may be called at any time. */
  wake(): void {
    this.#isWoken = true;
    if (this.#state === 'running') this.#pumping ??= this.#pump();
  }

  /** Claims nothing more, lets what is under way finish for a while, and then cuts it short. */
  async stop(): Promise<void> {
    if (this.#state !== 'running') return;
    this.#state = 'stopping';
    this.#callOff();
    const cut = setTimeout(() => void this.#deps.sender.close(), FINISH_MILLISECONDS);
    await this.#pumping;
    await Promise.all(this.#sending);
    clearTimeout(cut);
    await this.#pass();
    await this.#deps.sender.close();
    this.#state = 'stopped';
  }

  async #pump(): Promise<void> {
    this.#callOff();
    const { clock } = this.#deps;
    let wakeAt = 0;
    // What fell due during the pass is as good as a call.
    while (this.#state === 'running' && (this.#isWoken || wakeAt <= clock.now())) {
      this.#isWoken = false;
      wakeAt = await this.#pass();
    }
    this.#pumping = null;
    if (this.#state === 'running') this.#callOff = clock.after(wakeAt - clock.now(), () => this.wake());
  }

  /** Writes down what has ended and looks for work, in one transaction; answers until when there will be none. */
  async #pass(): Promise<number> {
    const { database, outbox, clock } = this.#deps;
    const finished: FinishedAttempt[] = [];
    try {
      const pass = await database.readCommitted(async (tx) => {
        finished.push(...this.#finished.splice(0));
        const hasDeactivated = await settle(this.#deps, tx, finished);
        return { hasDeactivated, ...(await this.#claim(tx)) };
      });
      if (pass.hasDeactivated) await outbox.reload(database.reader);
      await this.#take(pass.claimed);
      return pass.wakeAt;
    } catch (error) {
      this.#noteFailure(error, finished);
      return clock.now() + AFTER_FAILURE_MILLISECONDS;
    }
  }

  async #claim(tx: Queries): Promise<{ claimed: ClaimedAttempt[]; wakeAt: number }> {
    if (this.#state !== 'running') return { claimed: [], wakeAt: 0 };
    const { clock, queue } = this.#deps;
    const now = clock.now();
    const waiting = await queue.listDue(tx);
    const later = waiting.map(({ dueAt }) => dueAt).filter((dueAt) => dueAt > now);
    const wakeAt = Math.min(now + LONGEST_SLEEP_MILLISECONDS, ...later);
    const due = new Map(waiting.filter(({ dueAt }) => dueAt <= now).map(toEntry));
    const claims = this.#dealSlots([...due.values()]).map(
      ([webhookId, limit]): Claim => ({ webhookId, now, leaseUntil: now + LEASE_MILLISECONDS, limit }),
    );
    const claimed = claims.length === 0 ? [] : await queue.claim(tx, claims);
    const attempts = claimed.map((delivery) => ({
      webhook: due.get(delivery.webhookId) as Webhook,
      delivery,
    }));
    return { claimed: attempts, wakeAt };
  }

  #dealSlots(due: readonly Webhook[]): [webhookId: string, limit: number][] {
    const candidates = due
      .map((webhook) => ({
        webhookId: webhook.id,
        isProbed: isProbed(webhook),
        inFlight: this.#inFlight.get(webhook.id) ?? 0,
      }))
      .filter((candidate) => freeSlots(candidate, SLOT_LIMITS) > 0);
    const free = SLOT_LIMITS.total - this.#sending.size;
    return [...dealSlots(candidates, { free, turn: this.#turn++, limits: SLOT_LIMITS })];
  }

  async #take(claimed: readonly ClaimedAttempt[]): Promise<void> {
    if (this.#state === 'running') {
      for (const attempt of claimed) this.#send(attempt);
    } else if (claimed.length > 0) {
      const { database, clock } = this.#deps;
      const deliveries = claimed.map(({ delivery }) => delivery);
      await database.readCommitted((tx) => handBack(tx, deliveries, clock.now()));
    }
    // More of the same webhook may be due behind what was taken.
    if (claimed.length > 0) this.#isWoken = true;
  }

  /** A slot is for the exchange alone: the next one goes out while this one is written down. */
  #send(attempt: ClaimedAttempt): void {
    const { id } = attempt.webhook;
    this.#inFlight.set(id, (this.#inFlight.get(id) ?? 0) + 1);
    const sending = this.#attempt(attempt).finally(() => {
      this.#sending.delete(sending);
      const left = (this.#inFlight.get(id) ?? 1) - 1;
      if (left === 0) this.#inFlight.delete(id);
      else this.#inFlight.set(id, left);
      this.wake();
    });
    this.#sending.add(sending);
  }

  async #attempt(attempt: ClaimedAttempt): Promise<void> {
    const { delivery } = attempt;
    try {
      const finished = isSendable(delivery) ? await this.#deps.makeAttempt(attempt) : unsent(delivery);
      this.#finished.push(finished);
    } catch (error) {
      // The lease runs out, and the delivery is due again.
      this.#deps.log.error({ cause: toLogEntry(error), delivery: delivery.id }, 'a delivery cannot be sent');
    }
  }

  /** What could not be written is written when the database is back; what never can be falls due again by itself. */
  #noteFailure(error: unknown, finished: readonly FinishedAttempt[]): void {
    if (error instanceof DatabaseUnavailable) this.#finished.unshift(...finished);
    const { log, outages } = this.#deps;
    log[outages?.levelOf(error) ?? 'error'](
      { cause: toLogEntry(error) },
      'a pass over the deliveries failed; it will be repeated',
    );
  }
}

const toEntry = ({ webhook }: DueWebhook): [string, Webhook] => [webhook.id, webhook];

/** Not where a crash used its attempts up, or its event is no longer kept. */
const isSendable = ({ attempts, maxAttempts, payload }: ClaimedDelivery): boolean =>
  attempts <= maxAttempts && payload !== '';

const unsent = (delivery: ClaimedDelivery): FinishedAttempt => ({
  delivery,
  sent: null,
  next: { status: 'dead' },
});

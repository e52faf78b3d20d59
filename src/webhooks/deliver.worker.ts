import type { Logger } from 'pino';
import type { Queries } from '../db/database.ts';
import { toLogEntry } from '../errors.ts';
import type { Worker } from '../workers/worker.ts';
import {
  type AttemptDeps,
  type Attempts,
  type ClaimedAttempt,
  endUnsent,
  type FinishedAttempt,
} from './attempt.ts';
import { type ClaimedDelivery, claimDue, handBack, listDueWebhooks } from './claims.store.ts';
import { dealSlots, freeSlots, SLOT_LIMITS } from './send-slots.ts';
import { isProbed, type Webhook } from './webhook.ts';

interface Deps extends AttemptDeps {
  attempts: Attempts;
  log: Logger;
}

/** Longer than an exchange may take: whoever finds a claim older than this knows that its holder is gone. */
export const LEASE_MILLISECONDS = 15_000;
/** How long it sleeps at the most; deliveries of other processes and ended leases are found then. */
const LONGEST_SLEEP_MILLISECONDS = 15_000;
const FINISH_MILLISECONDS = 7000;

/**
 * Sends what is due: woken by commits that wrote deliveries, by slots that become free, and by the clock when the
 * earliest waiting delivery is due. It takes only what it has slots for, so that what waits stays in the database.
 */
export class DeliverWorker implements Worker {
  readonly #deps: Deps;
  readonly #inFlight = new Map<string, number>();
  readonly #underWay = new Set<Promise<void>>();
  #state: 'stopped' | 'running' | 'stopping' = 'stopped';
  #pumping: Promise<void> | null = null;
  #isWoken = false;
  #callOff: () => void = () => {};
  #turn = 0;
  #occupied = 0;

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
    await Promise.all(this.#underWay);
    clearTimeout(cut);
    await this.#deps.sender.close();
    this.#state = 'stopped';
  }

  async #pump(): Promise<void> {
    this.#callOff();
    let sleep = LONGEST_SLEEP_MILLISECONDS;
    while (this.#isWoken && this.#state === 'running') {
      this.#isWoken = false;
      // Slots that become free together are filled together.
      await new Promise((resolve) => setImmediate(resolve));
      sleep = await this.#pass();
    }
    this.#pumping = null;
    if (this.#state === 'running') this.#callOff = this.#deps.clock.after(sleep, () => this.wake());
  }

  /** One look for work; answers for how long there will be none. */
  async #pass(): Promise<number> {
    try {
      const { clock, database } = this.#deps;
      const now = clock.now();
      const waiting = await listDueWebhooks(database.reader);
      const due = waiting.filter(({ dueAt }) => dueAt <= now).map(({ webhook }) => webhook);
      const claimed = await this.#claim(due);
      for (const attempt of claimed) this.#track(attempt);
      // More of the same webhook may be due behind what was taken.
      if (claimed.length > 0) this.#isWoken = true;
      const later = waiting.filter(({ dueAt }) => dueAt > now).map(({ dueAt }) => dueAt - now);
      return Math.min(LONGEST_SLEEP_MILLISECONDS, ...later);
    } catch (error) {
      this.#deps.log.error(
        { cause: toLogEntry(error) },
        'claiming deliveries failed; it will be tried again',
      );
      return 1000;
    }
  }

  async #claim(due: readonly Webhook[]): Promise<ClaimedAttempt[]> {
    const webhooks = new Map(due.map((webhook) => [webhook.id, webhook]));
    const slots = this.#dealSlots(due);
    if (slots.size === 0) return [];
    return this.#deps.database.transaction(async (tx) => {
      const attempts: ClaimedAttempt[] = [];
      for (const [webhookId, limit] of slots) {
        const webhook = webhooks.get(webhookId) as Webhook;
        attempts.push(...(await this.#claimOf(tx, webhook, limit)));
      }
      return attempts;
    });
  }

  #dealSlots(due: readonly Webhook[]): Map<string, number> {
    const candidates = due
      .map((webhook) => ({
        webhookId: webhook.id,
        isProbed: isProbed(webhook),
        inFlight: this.#inFlight.get(webhook.id) ?? 0,
      }))
      .filter((candidate) => freeSlots(candidate, SLOT_LIMITS) > 0);
    const free = SLOT_LIMITS.total - this.#occupied;
    return dealSlots(candidates, { free, turn: this.#turn++, limits: SLOT_LIMITS });
  }

  async #claimOf(tx: Queries, webhook: Webhook, limit: number): Promise<ClaimedAttempt[]> {
    const now = this.#deps.clock.now();
    const claim = { webhookId: webhook.id, now, leaseUntil: now + LEASE_MILLISECONDS, limit };
    return (await claimDue(tx, claim)).map((delivery) => ({ webhook, delivery }));
  }

  #track(attempt: ClaimedAttempt): void {
    const underWay = this.#attempt(attempt).finally(() => this.#underWay.delete(underWay));
    this.#underWay.add(underWay);
  }

  async #attempt(attempt: ClaimedAttempt): Promise<void> {
    const { database, clock, attempts, log } = this.#deps;
    try {
      if (this.#state !== 'running') {
        await database.transaction((tx) => handBack(tx, attempt.delivery, clock.now()));
      } else if (!isSendable(attempt.delivery)) {
        await database.transaction((tx) => endUnsent(this.#deps, tx, attempt.delivery));
      } else {
        const status = await attempts.settle(await this.#inSlot(attempt));
        // The sleep that began meanwhile knew of the claim only, which ends later than the retry comes.
        if (status === 'retrying') this.wake();
      }
    } catch (error) {
      // The lease runs out, and the delivery is due again.
      log.error({ cause: toLogEntry(error), delivery: attempt.delivery.id }, 'settling a delivery failed');
    }
  }

  /** A slot is for the exchange alone: the next one goes out while this one is written down. */
  async #inSlot(attempt: ClaimedAttempt): Promise<FinishedAttempt> {
    const { id } = attempt.webhook;
    this.#occupied += 1;
    this.#inFlight.set(id, (this.#inFlight.get(id) ?? 0) + 1);
    try {
      return await this.#deps.attempts.send(attempt);
    } finally {
      this.#occupied -= 1;
      const left = (this.#inFlight.get(id) ?? 1) - 1;
      if (left === 0) this.#inFlight.delete(id);
      else this.#inFlight.set(id, left);
      this.wake();
    }
  }
}

/** Not where a crash used its attempts up, or its event is no longer kept. */
const isSendable = ({ attempts, maxAttempts, payload }: ClaimedDelivery): boolean =>
  attempts <= maxAttempts && payload !== '';

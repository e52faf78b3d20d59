import { Worker } from 'node:worker_threads';
import type { Answer, FromThread, Order, ToThread } from './sender.thread.ts';
import type { Exchange, Sender, SenderOptions } from './sender.ts';
import type { WebhookRequest } from './webhook-request.ts';

interface Waiting {
  resolve(exchange: Exchange): void;
  reject(error: Error): void;
}

/**
 * A sender on a thread of its own, which the first request starts: TLS, signatures and whatever receivers answer are
 * no matter of the event loop that serves tokens.
 */
export class SendingThread implements Sender {
  readonly #options: SenderOptions;
  readonly #waiting = new Map<number, Waiting>();
  #orders: Order[] = [];
  #lastId = 0;
  #thread: Worker | null = null;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  send(request: WebhookRequest): Promise<Exchange> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      // Whatever else is sent in this turn goes along.
      if (this.#orders.push({ id, request }) === 1) queueMicrotask(() => this.#post());
    });
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread === null) return;
    const closed = new Promise<void>((resolve) => {
      thread.once('exit', () => resolve());
      thread.on('message', (message: FromThread) => message === null && resolve());
    });
    thread.postMessage(null satisfies ToThread);
    await closed;
    if (this.#thread === thread) this.#thread = null;
    this.#rejectAll(new Error('The thread that sends has closed.'));
    // Not awaited: names that are being looked up cannot be called off, and hold it up for as long as the resolver tries.
    void thread.terminate();
  }

  #post(): void {
    this.#thread ??= this.#start();
    this.#thread.postMessage(JSON.stringify(this.#orders) satisfies ToThread);
    this.#orders = [];
  }

  #start(): Worker {
    const thread = new Worker(new URL('./sender.thread.ts', import.meta.url), {
      workerData: this.#options,
      execArgv: [],
      // What 64 exchanges hold is far below this; left alone, the engine takes more because it may.
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 },
    });
    let failure = new Error('The thread that sends has ended.');
    thread.on('message', (message: FromThread) => message !== null && this.#take(JSON.parse(message)));
    thread.on('error', (error) => {
      failure = error as Error;
    });
    // The next request starts another one.
    thread.once('exit', () => {
      if (this.#thread !== thread) return;
      this.#thread = null;
      this.#rejectAll(failure);
    });
    return thread;
  }

  #take(answers: readonly Answer[]): void {
    for (const { id, exchange } of answers) {
      this.#waiting.get(id)?.resolve(exchange);
      this.#waiting.delete(id);
    }
  }

  #rejectAll(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

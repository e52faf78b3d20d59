import type { Dispatcher } from 'undici';

/** What a receiver answered; of its body the first bytes. */
export interface ReceiverAnswer {
  statusCode: number;
  retryAfter: string | undefined;
  bodyStart: Buffer;
}

const EXCHANGE_MILLISECONDS = 10_000;
const KEPT_BYTES = 16 * 1024;

export class DeadlinePassed extends Error {}

/**
 * Makes one request under one deadline for all of it, from the name's lookup to the last byte of the answer. Reads
 * what arrives as it arrives, without a stream for it: that would cost as much as the rest of the exchange.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
): Promise<ReceiverAnswer> {
  return new Promise((resolve, reject) => dispatcher.dispatch(request, new Exchange(resolve, reject)));
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #resolve: (answer: ReceiverAnswer) => void;
  readonly #reject: (error: Error) => void;
  readonly #deadline: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #statusCode = 0;
  #retryAfter: string | undefined;
  #isOver = false;
  #controller: Dispatcher.DispatchController | null = null;

  constructor(resolve: (answer: ReceiverAnswer) => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#deadline = setTimeout(() => this.#fail(new DeadlinePassed()), EXCHANGE_MILLISECONDS);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The deadline passed before there was a connection: nothing may be sent on it.
    if (this.#isOver) controller.abort(new DeadlinePassed());
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    statusCode: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#statusCode = statusCode;
    this.#retryAfter = [headers['retry-after']].flat()[0];
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // The parser's buffer is reused after this call.
    this.#chunks.push(Buffer.from(chunk));
    this.#length += chunk.length;
    if (this.#length < KEPT_BYTES) return;
    this.#succeed();
    // Closes the connection: what is beyond the limit is never read.
    controller.abort(new Error('enough was read'));
  }

  onResponseEnd(): void {
    this.#succeed();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  #succeed(): void {
    if (!this.#end()) return;
    const bodyStart = Buffer.concat(this.#chunks).subarray(0, KEPT_BYTES);
    this.#resolve({ statusCode: this.#statusCode, retryAfter: this.#retryAfter, bodyStart });
  }

  #fail(error: Error): void {
    if (!this.#end()) return;
    this.#controller?.abort(error);
    this.#reject(error);
  }

  /** True the first time. */
  #end(): boolean {
    const isFirst = !this.#isOver;
    this.#isOver = true;
    clearTimeout(this.#deadline);
    return isFirst;
  }
}

import { parentPort, workerData } from 'node:worker_threads';
import { createSender, type Exchange, type SenderOptions } from './sender.ts';
import type { WebhookRequest } from './webhook-request.ts';

/** `id` tells which answer is whose. */
export interface Order {
  id: number;
  request: WebhookRequest;
}

export interface Answer {
  id: number;
  exchange: Exchange;
}

/**
 * Orders as JSON, or null to close. They come in bundles, as the answers go: a message costs more than what is in it,
 * and a text half of what cloning its objects costs.
 */
export type ToThread = string | null;
/** Answers as JSON; null once it has closed, after all of them. */
export type FromThread = string | null;

const sender = createSender(workerData as SenderOptions);
let answers: Answer[] = [];

parentPort?.on('message', (message: ToThread) => {
  if (message === null) void close();
  else for (const order of JSON.parse(message) as Order[]) void carryOut(order);
});

async function carryOut({ id, request }: Order): Promise<void> {
  const exchange = await sender.send(request);
  if (answers.push({ id, exchange }) === 1) setImmediate(handOver);
}

function handOver(): void {
  parentPort?.postMessage(JSON.stringify(answers) satisfies FromThread);
  answers = [];
}

/** What is under way ends with it, and is answered first. */
async function close(): Promise<void> {
  await sender.close();
  setImmediate(() => parentPort?.postMessage(null satisfies FromThread));
}

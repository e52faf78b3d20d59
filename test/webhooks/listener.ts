import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../until.ts';
import type { WrittenEvent } from './subscriber.ts';

export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** As it came. */
  body: string;
}

/** A receiver that notes every request and answers what the test has set. */
export interface Listener {
  url: string;
  received: Received[];
  answer: { status: number; headers?: Record<string, string>; body?: string };
  /** The first `count` requests, once they are there. */
  first(count: number): Promise<Received[]>;
  close(): Promise<void>;
}

export async function listen(): Promise<Listener> {
  const server = createServer(async (request, response) => {
    const body = await readAll(request);
    listener.received.push({
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body,
    });
    const { status, headers, body: text } = listener.answer;
    response.writeHead(status, headers).end(text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const listener: Listener = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received: [],
    answer: { status: 200 },
    async first(count) {
      await until(`${count} requests`, () => listener.received.length >= count);
      return listener.received.slice(0, count);
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return listener;
}

export const eventIn = ({ body }: Received): WrittenEvent => JSON.parse(body) as WrittenEvent;

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface Received {
  headers: Record<string, string>;
  /** As it arrived: the signature is that of these bytes. */
  body: string;
}

export interface DemoReceiver {
  url: string;
  /** The first request that arrives. */
  received: Promise<Received>;
  close(): void;
}

/** Somebody who is told of events: it takes one and answers that all is well. */
export async function startDemoReceiver(): Promise<DemoReceiver> {
  const { promise: received, resolve } = Promise.withResolvers<Received>();
  const server = createServer(async (request, response) => {
    const body = await text(request);
    response.writeHead(204).end();
    resolve({ headers: request.headers as Record<string, string>, body });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/events`, received, close };
}

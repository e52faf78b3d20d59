import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A request as its receiver has it: the names of headers in lower case, the body as bytes. */
export interface ReceivedRequest {
  method: string;
  headers: Record<string, string>;
  body: Buffer;
}

export interface Receiver {
  url: string;
  requests: ReceivedRequest[];
  close(): Promise<void>;
}

/** Answers 204 to everything, and keeps what it got. */
export async function startReceiver(): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const server = createServer(async (request, response) => {
    requests.push(await receive(request));
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/signet`,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function receive(request: IncomingMessage): Promise<ReceivedRequest> {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(', ')]),
  );
  return { method: request.method ?? '', headers, body: await buffer(request) };
}

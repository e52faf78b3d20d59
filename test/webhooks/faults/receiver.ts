import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { certificatePath } from '../../certificates.ts';

/** A request as it came over the socket, its body the bytes that were sent. */
export interface Seen {
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Resolves when its connection is closed, by whichever side. */
  closed: Promise<unknown>;
}

/** What a receiver does once it has read a request. */
export type Behaviour = (response: ServerResponse, socket: Socket, seen: Seen) => unknown;

export interface Receiver {
  port: number;
  url: string;
  seen: Seen[];
  /** Connections that were opened to it, whether or not a request came. */
  connections: number;
  close(): Promise<void>;
}

export type Certificate = 'good' | 'expired' | 'wrong-host' | 'self-signed' | 'unknown-authority';

const certificateText = (name: string): string => readFileSync(certificatePath(name), 'utf8');

/** Answers the first request by the first behaviour, and so on; the last one serves all that follow. */
export function startReceiver(...behaviours: [Behaviour, ...Behaviour[]]): Promise<Receiver> {
  return listen((handle) => createHttpServer(handle), behaviours);
}

export async function startTlsReceiver(certificate: Certificate, behaviour: Behaviour): Promise<Receiver> {
  const tls = { key: certificateText('receiver.key'), cert: certificateText(`${certificate}.crt`) };
  const receiver = await listen((handle) => createHttpsServer(tls, handle), [behaviour]);
  return Object.assign(receiver, { url: `https://localhost:${receiver.port}/` });
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

async function listen(
  create: (handle: Handle) => Server,
  behaviours: [Behaviour, ...Behaviour[]],
): Promise<Receiver> {
  const seen: Seen[] = [];
  const sockets = new Set<Socket>();
  // One for each connection, which may carry many requests.
  const closings = new WeakMap<Socket, Promise<unknown>>();
  const server = create(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const behaviour = behaviours[Math.min(seen.length, behaviours.length - 1)] ?? behaviours[0];
    const closed = closings.get(request.socket) ?? Promise.resolve();
    const one = { headers: request.headers, body, closed };
    seen.push(one);
    behaviour(response, request.socket, one);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    port,
    url: `http://127.0.0.1:${port}/`,
    seen,
    connections: 0,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  server.on('secureConnection', (socket) => closings.set(socket, closingOf(socket)));
  server.on('connection', (socket) => {
    receiver.connections += 1;
    sockets.add(socket);
    closings.set(socket, closingOf(socket));
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  return receiver;
}

const closingOf = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) => socket.once('close', resolve));

export const answer =
  (status: number, headers: Record<string, string> = {}, body: string | Buffer = ''): Behaviour =>
  (response) =>
    response.writeHead(status, headers).end(body);

/** Never says a word. */
export const hang: Behaviour = () => {};

export const resetAtOnce: Behaviour = (_, socket) => socket.resetAndDestroy();

export const resetAfterHeaders: Behaviour = (response, socket) => {
  response.writeHead(200, { 'content-length': '1000' });
  response.write('half', () => socket.resetAndDestroy());
};

export const speakNonsense: Behaviour = (_, socket) => socket.end('NOT HTTP AT ALL\r\n\r\n');

/** One byte each 200 ms for as long as anybody listens. */
export const dribble: Behaviour = (response, socket) => {
  response.writeHead(200);
  const timer = setInterval(() => response.write('.'), 200);
  socket.once('close', () => clearInterval(timer));
};

/** As fast as it is read, without an end. */
export const answerEndlessly =
  (status: number): Behaviour =>
  (response) => {
    const chunk = Buffer.alloc(8192, 'x');
    const write = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.writeHead(status).on('drain', write);
    write();
  };

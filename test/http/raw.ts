import { once } from 'node:events';
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';

export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** By node:http, which sends methods, header lists and chunked bodies that fetch does not. */
export async function exchange(
  url: string,
  given: {
    method: string;
    path: string;
    headers?: OutgoingHttpHeaders;
    chunks?: readonly (string | Buffer)[];
  },
): Promise<RawAnswer> {
  const outgoing = request(url, { method: given.method, path: given.path, headers: given.headers ?? {} });
  const answered = once(outgoing, 'response');
  for (const chunk of given.chunks ?? []) outgoing.write(chunk);
  outgoing.end();
  const [answer] = await answered;
  let text = '';
  for await (const chunk of answer) text += chunk;
  return { status: answer.statusCode, headers: answer.headers, text };
}

/** Writes bytes to the port and answers all that comes back until the service closes the connection. */
export async function converse(url: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk;
  });
  // The service may close before it has read everything.
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  return received;
}

export const errorOf = (text: string): string =>
  (JSON.parse(text.slice(text.indexOf('{'))) as { error: string }).error;

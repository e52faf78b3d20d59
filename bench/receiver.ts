import { createServer } from 'node:http';
import { Pool } from 'undici';
import type { Signet } from './signet.ts';

export interface Receiver {
  origin: string;
  arrivals: { at: number; body: string }[];
  close(): void;
}

/** Answers 200 at once, or, where it hangs, never. */
export function startReceiver({ isHanging = false }: { isHanging?: boolean } = {}): Promise<Receiver> {
  const arrivals: Receiver['arrivals'] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      arrivals.push({ at: performance.now(), body: Buffer.concat(chunks).toString() });
      if (!isHanging) response.end();
    });
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      const close = () => {
        server.close();
        server.closeAllConnections();
      };
      resolve({ origin: `http://127.0.0.1:${port}`, arrivals, close });
    });
  });
}

export async function subscribe(
  service: Signet,
  receiver: Receiver,
  { count, event }: { count: number; event: string },
): Promise<void> {
  for (let index = 0; index < count; index++) {
    const webhook = { name: `bench ${index}`, url: `${receiver.origin}/${index}`, events: [event] };
    await service.admin('POST', '/api/webhooks', webhook);
  }
}

export async function inParallel(width: number, count: number, run: () => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next++ < count) await run();
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** Introspections of nonsense: the cheapest events there are, for those who hear of failed validations. */
export async function failValidations(
  service: Signet,
  { width, count }: { width: number; count: number },
): Promise<void> {
  const pool = new Pool(service.origin, { connections: width });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  await inParallel(width, count, async () => {
    const { body } = await pool.request({
      method: 'POST',
      path: '/oauth/introspect',
      headers,
      body: 'token=x',
    });
    await body.dump();
  });
  await pool.close();
}

import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One address for several instances, to which requests go in turn; what one does not answer is a 502. */
export interface Balancer {
  url: string;
  /** The instances may be there later: their issuer is this address. */
  setTargets(urls: readonly string[]): void;
  close(): Promise<void>;
}

export async function startBalancer(): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true });
  let targets: readonly string[] = [];
  let turn = 0;

  function pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const target = targets[turn++ % targets.length] ?? '';
    const { method, headers, url = '/' } = incoming;
    const onward = request(new URL(url, target), { agent, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      answer.once('error', () => outgoing.destroy());
    });
    onward.once('error', () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
    incoming.pipe(onward);
  }

  const server = createServer(pass).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    setTargets(urls) {
      targets = urls;
    },
    async close() {
      agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

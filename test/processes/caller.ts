import { Agent, request } from 'node:http';

export interface CallerAnswer {
  status: number;
  body: string;
}

/** A client with one connection, which it keeps as long as the service does; or with a new one for each request. */
export interface Caller {
  post(path: string, body: object): Promise<CallerAnswer>;
  close(): void;
}

export function createCaller(url: string, { keepAlive = true } = {}): Caller {
  const agent = new Agent({ keepAlive, maxSockets: 1 });
  return {
    close: () => agent.destroy(),
    post: (path, body) =>
      new Promise((resolve, reject) => {
        const headers = { 'content-type': 'application/json' };
        const sent = request(url + path, { method: 'POST', agent, headers }, async (response) => {
          const chunks: Buffer[] = [];
          for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() });
        });
        sent.on('error', reject).end(JSON.stringify(body));
      }),
  };
}

/** Asks without a pause over all of the callers, until `stop`, which answers what was not a 200. */
export function keepAsking(callers: readonly Caller[], path: string, body: object) {
  const failures: string[] = [];
  let count = 0;
  let isStopped = false;
  async function ask(caller: Caller): Promise<void> {
    while (!isStopped) {
      try {
        const { status } = await caller.post(path, body);
        if (status !== 200) failures.push(String(status));
      } catch (error) {
        failures.push(String(error));
      }
      count += 1;
    }
  }
  const all = Promise.all(callers.map(ask));
  return {
    async stop(): Promise<{ failures: string[]; count: number }> {
      isStopped = true;
      await all;
      return { failures, count };
    },
  };
}

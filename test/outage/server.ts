import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A PostgreSQL server of one test file's own, to be stopped and started. */
export interface Server {
  url: string;
  /** Breaks all connections; from then on nobody listens. */
  stop(): Promise<void>;
  start(): Promise<void>;
  remove(): Promise<void>;
}

export async function startServer(): Promise<Server> {
  const program = join(import.meta.dirname, '..', 'postgres-cluster.ts');
  const cluster = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: cluster.stdout })[Symbol.asyncIterator]();
  const tell = async (command: string): Promise<void> => {
    cluster.stdin.write(`${command}\n`);
    await lines.next();
  };
  const { value } = await lines.next();
  if (value === undefined) throw new Error('The PostgreSQL server of the test did not start.');
  return {
    url: `${value}/postgres?sslmode=disable`,
    stop: () => tell('stop'),
    start: () => tell('start'),
    async remove() {
      cluster.stdin.end();
      await once(cluster, 'close');
    },
  };
}

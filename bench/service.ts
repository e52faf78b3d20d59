import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ADMIN = { email: 'bench@localhost', password: 'correct-horse-battery' };

export interface BenchService {
  origin: string;
  /** Calls an administrator path and answers the parsed body. */
  admin(method: string, path: string, body?: object): Promise<Record<string, never>>;
  /** What the process has used up to now, on all cores. */
  cpuSeconds(): Promise<number>;
  stop(): Promise<void>;
}

/** The real service in a process and a folder of its own. */
export async function startService(): Promise<BenchService> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-bench-'));
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const child = spawnService(folder, port);
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  const authorization = `Basic ${Buffer.from(`${ADMIN.email}:${ADMIN.password}`).toString('base64')}`;
  return {
    origin,
    async admin(method, path, body) {
      const response = await fetch(origin + path, {
        method,
        headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return (await response.json()) as Record<string, never>;
    },
    async cpuSeconds() {
      const metrics = await (await fetch(`${origin}/metrics`)).text();
      return Number(/^process_cpu_seconds_total (\S+)/m.exec(metrics)?.[1]);
    },
    async stop() {
      child.kill('SIGTERM');
      await new Promise((resolve) => child.once('exit', resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function spawnService(folder: string, port: number): ChildProcess {
  return spawn(process.execPath, [new URL('../bin/signet.mjs', import.meta.url).pathname, 'serve'], {
    cwd: folder,
    env: {
      ...process.env,
      SIGNET_PORT: String(port),
      SIGNET_DATA_DIR: join(folder, 'data'),
      SIGNET_ADMIN_EMAIL: ADMIN.email,
      SIGNET_ADMIN_PASSWORD: ADMIN.password,
      SIGNET_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

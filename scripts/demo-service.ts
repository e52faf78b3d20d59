import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface DemoService {
  url: string;
  folder: string;
  admin: { email: string; password: string };
  /** Stops the service as an operator would, and removes its folder. */
  stop(): Promise<void>;
}

/** The real service in a process of its own, on a free port and in a new folder. */
export async function startDemoService(): Promise<DemoService> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-demo-'));
  const port = await freePort();
  const admin = { email: 'admin@demo.example', password: randomBytes(18).toString('base64url') };
  const child = run(folder, {
    SIGNET_PORT: String(port),
    SIGNET_DATA_DIR: folder,
    SIGNET_ADMIN_EMAIL: admin.email,
    SIGNET_ADMIN_PASSWORD: admin.password,
    SIGNET_LOG_LEVEL: 'error',
  });
  const stop = async () => {
    await end(child);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilListening(child);
    return { url: `http://127.0.0.1:${port}`, folder, admin, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function run(folder: string, settings: Record<string, string>): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SIGNET_'));
  return spawn(process.execPath, [fileURLToPath(new URL('../bin/signet.mjs', import.meta.url)), 'serve'], {
    // A folder without a .env file.
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...Object.fromEntries(inherited), ...settings },
  });
}

async function untilListening({ stdout }: ChildProcess): Promise<void> {
  if (stdout !== null) {
    for await (const line of createInterface(stdout)) if (line.includes('listens on')) return;
  }
  throw new Error('The service did not start.');
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No port is free.');
  return address.port;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../test/free-port.ts';
import type { BenchClient } from './requests.ts';
import { serverEnv } from './server-env.ts';

const ADMIN = { email: 'bench@localhost', password: 'correct-horse-battery' };
/** With PostgreSQL the key does not come from the data folder. */
const MASTER_KEY = Buffer.alloc(32, 'bench').toString('base64');

export interface SignetOptions {
  /** `sqlite`, or the URL of an empty database. */
  database: string;
  /** Where it keeps its data; a folder that stays can be started on again. */
  folder: string;
  /** The checkout that it runs from; this one where undefined. */
  root?: string;
  nodeOptions?: readonly string[];
}

/** The real service in a process of its own. */
export interface Signet {
  pid: number;
  origin: string;
  admin(method: string, path: string, body: object): Promise<Record<string, string>>;
  stop(): Promise<void>;
}

const here = join(import.meta.dirname, '..');

export async function startSignet(options: SignetOptions): Promise<Signet> {
  const { child, origin } = await spawnSignet(options);
  await Promise.race([once(child.stdout ?? child, 'data'), once(child, 'exit')]);
  if (child.exitCode !== null) throw new Error('Signet has ended; it says why above.');
  return {
    pid: child.pid ?? 0,
    origin,
    async admin(method, path, body) {
      const authorization = `Basic ${Buffer.from(`${ADMIN.email}:${ADMIN.password}`).toString('base64')}`;
      const headers = { authorization, 'content-type': 'application/json' };
      const response = await fetch(origin + path, { method, headers, body: JSON.stringify(body) });
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return (await response.json()) as Record<string, string>;
    },
    stop: () => stopSignet(child),
  };
}

/** Does not wait until it serves. */
export async function spawnSignet(options: SignetOptions): Promise<{ child: ChildProcess; origin: string }> {
  const { database, folder, root = here, nodeOptions = [] } = options;
  const port = await freePort();
  const isPostgres = database !== 'sqlite';
  const child = spawn(process.execPath, [...nodeOptions, join(root, 'bin/signet.mjs'), 'serve'], {
    cwd: folder,
    env: {
      ...serverEnv(),
      SIGNET_PORT: String(port),
      SIGNET_DATA_DIR: join(folder, 'data'),
      SIGNET_ADMIN_EMAIL: ADMIN.email,
      SIGNET_ADMIN_PASSWORD: ADMIN.password,
      SIGNET_LOG_LEVEL: 'warn',
      ...(isPostgres && { SIGNET_DATABASE_URL: database, SIGNET_MASTER_KEY: MASTER_KEY }),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { child, origin: `http://127.0.0.1:${port}` };
}

export async function stopSignet(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

export async function createClients(signet: Signet, count: number): Promise<BenchClient[]> {
  const clients: BenchClient[] = [];
  for (let index = 0; index < count; index++) {
    const input = { name: `bench ${index}`, scopes: ['read', 'write'] };
    const { client_id: clientId = '', client_secret: clientSecret = '' } = await signet.admin(
      'POST',
      '/api/agents',
      input,
    );
    clients.push({ clientId, clientSecret });
  }
  return clients;
}

/** Runs something with a folder that is gone afterwards. */
export async function withFolder<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-bench-'));
  try {
    return await run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase, temporaryFolder } from './databases.ts';
import { freePort } from './free-port.ts';
import { ADMIN } from './harness.ts';

const bin = join(import.meta.dirname, '..', 'bin', 'signet.mjs');

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** The real program in a process of its own. */
export interface Child {
  url: string;
  process: ChildProcess;
  /** What it has printed until now. */
  output(): { stdout: string; stderr: string };
  exited: Promise<Exit>;
  kill(signal: NodeJS.Signals): Promise<Exit>;
}

/** The working folder of children, which end with it, as their database does. */
export interface ChildFolder {
  path: string;
  children: ChildProcess[];
  /** Made for the first of them. */
  database(): Promise<TestDatabase>;
  remove(): Promise<void>;
}

export function childFolder(createDatabase = createTestDatabase): ChildFolder {
  const path = temporaryFolder();
  const children: ChildProcess[] = [];
  let database: Promise<TestDatabase> | null = null;
  return {
    path,
    children,
    database() {
      database ??= createDatabase(join(path, 'data'));
      return database;
    },
    async remove() {
      for (const child of children) child.kill('SIGKILL');
      await (await database)?.remove();
      rmSync(path, { recursive: true, force: true });
    },
  };
}

interface ChildOptions {
  folder: ChildFolder;
  port: number;
  env?: Record<string, string>;
  arguments?: readonly string[];
  /** A program and its first arguments that starts it, in surroundings of its own. */
  through?: readonly string[];
  /** What standard input holds; without it there is none. */
  input?: string;
}

/** Starts it and waits until it serves or exits. */
export async function startChild(options: {
  folder: ChildFolder;
  port?: number;
  env?: Record<string, string>;
  through?: readonly string[];
}): Promise<Child> {
  const child = await launch({ ...options, port: options.port ?? (await freePort()) });
  await Promise.race([printed(child, 'Make a first agent'), child.exited]);
  if (child.process.exitCode !== null) throw new Error(`The service ended: ${child.output().stderr}`);
  return child;
}

/** Starts it where it is expected to end by itself. */
export async function runChild(options: Omit<ChildOptions, 'port'> & { port?: number }): Promise<Exit> {
  return (await launch({ ...options, port: options.port ?? (await freePort()) })).exited;
}

export const adminEnv = { SIGNET_ADMIN_EMAIL: ADMIN.email, SIGNET_ADMIN_PASSWORD: ADMIN.password };

async function launch(options: ChildOptions): Promise<Child> {
  const { folder, port, env = {}, arguments: given = ['serve'], through = [], input } = options;
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const database = await folder.database();
  const [program = '', ...parameters] = [...through, process.execPath, bin, ...given];
  const child = spawn(program, parameters, {
    cwd: folder.path,
    env: { PATH, NODE_COMPILE_CACHE, SIGNET_PORT: String(port), ...database.env, ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.end(input);
  folder.children.push(child);
  const output = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => {
    output.stdout += chunk;
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    output.stderr += chunk;
  });
  const exited = once(child, 'close').then(
    ([code, signal]): Exit => ({ code: code as number | null, signal: signal as Exit['signal'], ...output }),
  );
  return {
    url: `http://127.0.0.1:${port}`,
    process: child,
    output: () => ({ ...output }),
    exited,
    kill(signal) {
      child.kill(signal);
      return exited;
    },
  };
}

async function printed(child: Child, text: string): Promise<void> {
  while (!child.output().stdout.includes(text)) {
    if (child.process.stdout === null) throw new Error('The output of the service is not read.');
    await once(child.process.stdout, 'data');
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { isOpen } from '../open-port.ts';

/** The server of the page, in a process of its own. */
export interface ExampleServer {
  origin: string;
  printed(): string;
  untilPrinted(text: string): Promise<void>;
  stop(): Promise<void>;
}

/** `prepare` learns the address before the server starts, and answers the environment for it. */
export async function startExample(
  text: string,
  prepare: (origin: string) => Promise<Record<string, string>>,
): Promise<ExampleServer> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-example-'));
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const env = await prepare(origin);
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'dir');
  writeFileSync(join(folder, 'receiver.mjs'), text.replace('listen(3000', `listen(${port}`));
  const child = spawn(process.execPath, ['receiver.mjs'], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    printed += chunk;
  });
  const stop = async () => {
    await end(child);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await poll(child, () => isOpen(port));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    origin,
    printed: () => printed,
    untilPrinted: (part) => poll(child, async () => printed.includes(part)),
    stop,
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

async function poll(child: ChildProcess, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await holds())) {
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error('The example does not do its part.');
    await delay(20);
  }
}

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../free-port.ts';
import { untilOpen } from '../open-port.ts';

const run = promisify(execFile);

/** The addresses that the README names, and the ones that stand for them in the test. */
interface Addresses {
  service: string;
  resourceServer: string;
}

/** What a reader of the README has before them: a terminal with the service in it, another one, and a folder. */
export interface ReadersDesk {
  /** What the service printed when it started. */
  greeting: string;
  /** What the reader exported. */
  exported: Record<string, string>;
  withOurAddresses(text: string): string;
  withTheirAddresses(text: string): string;
  /** Runs a shell block in the second terminal. */
  shell(text: string): Promise<string>;
  saveFile(name: string, text: string): void;
  /** Starts a saved file and resolves when it listens. */
  startServer(name: string): Promise<void>;
  tidyUp(): Promise<void>;
}

export async function openDesk(startCommand: string): Promise<ReadersDesk> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-readme-'));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'dir');
  const [servicePort, serverPort] = [await freePort(), await freePort()];
  const addresses = { service: `127.0.0.1:${servicePort}`, resourceServer: `127.0.0.1:${serverPort}` };
  const service = start(startCommand, process.cwd(), {
    SIGNET_PORT: String(servicePort),
    SIGNET_DATA_DIR: join(folder, 'data'),
  });
  const started: ChildProcess[] = [service];
  const exported: Record<string, string> = {};
  const withOurAddresses = (text: string) => replaceAddresses(text, addresses);

  return {
    greeting: await readUntil(service, 'my-first-agent'),
    exported,
    withOurAddresses,
    withTheirAddresses: (text) => text.replaceAll(addresses.service, '127.0.0.1:8080'),
    async shell(text) {
      const env = { ...process.env, ...exported };
      const { stdout } = await run('sh', ['-euc', withOurAddresses(text)], { cwd: folder, env });
      return stdout;
    },
    saveFile: (name, text) => writeFileSync(join(folder, name), withOurAddresses(text)),
    async startServer(name) {
      const server = start(`exec node ${name}`, folder, exported);
      started.push(server);
      await untilOpen(serverPort, server);
    },
    async tidyUp() {
      await Promise.all(started.map(stop));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function replaceAddresses(text: string, { service, resourceServer }: Addresses): string {
  return text
    .replaceAll('127.0.0.1:8080', service)
    .replaceAll('127.0.0.1:3000', resourceServer)
    .replace('listen(3000', `listen(${resourceServer.split(':')[1]}`);
}

/** A group of its own, so that what npm and the shell start can be stopped with them. */
function start(command: string, cwd: string, env: Record<string, string>): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SIGNET_'));
  return spawn('sh', ['-c', command], {
    cwd,
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.stdout === null || child.stdout.closed) return;
  // The pipe closes when the last process that holds it has ended.
  const closed = once(child.stdout, 'close');
  child.stdout.resume();
  process.kill(-child.pid, 'SIGTERM');
  await closed;
}

async function readUntil({ stdout }: ChildProcess, end: string): Promise<string> {
  let text = '';
  if (stdout === null) throw new Error('The service has no standard output.');
  return new Promise((resolveText, reject) => {
    stdout.setEncoding('utf8');
    stdout.on('data', (chunk: string) => {
      text += chunk;
      if (text.includes(end)) resolveText(text);
    });
    stdout.once('close', () => reject(new Error(`The service ended before it was ready: ${text}`)));
  });
}

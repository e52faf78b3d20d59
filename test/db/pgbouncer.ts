import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { temporaryFolder } from '../databases.ts';
import { freePort } from '../free-port.ts';

/** Of the one on the path; null where there is none. */
export function pgBouncerVersion(): { major: number; minor: number } | null {
  const { stdout } = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' });
  const [, major, minor] = /^PgBouncer (\d+)\.(\d+)/m.exec(stdout ?? '') ?? [];
  return major === undefined || minor === undefined ? null : { major: Number(major), minor: Number(minor) };
}

export interface PgBouncer {
  /** The same database, through it. */
  through(url: string): string;
  stop(): Promise<void>;
}

/** Fewer connections than any two instances want at once, so that they share them. */
const SERVER_CONNECTIONS = 4;
const NOBODY = 65_534;

/** In transaction mode, in front of the server of the URL, with further lines for its section `[pgbouncer]`. */
export async function startPgBouncer(url: string, lines: readonly string[]): Promise<PgBouncer> {
  const { hostname, port, username, password } = new URL(url);
  const folder = temporaryFolder();
  const ownPort = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  const ini = [
    '[databases]',
    `* = host=${hostname} port=${port} user=${username} password=${password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${ownPort}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${SERVER_CONNECTIONS}`,
    ...lines,
  ];
  writeFileSync(file, `${ini.join('\n')}\n`);
  chmodSync(folder, 0o755);
  // It does not run as root.
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const bouncer = spawn('pgbouncer', ['-q', file], { ...user, stdio: ['ignore', 'ignore', 'pipe'] });
  const said: string[] = [];
  bouncer.stderr.on('data', (chunk) => said.push(String(chunk)));
  await untilItListens(bouncer, ownPort, said);
  return {
    through: (direct) => Object.assign(new URL(direct), { port: String(ownPort) }).href,
    async stop() {
      bouncer.kill('SIGKILL');
      if (bouncer.exitCode === null && bouncer.signalCode === null) await once(bouncer, 'exit');
      rmSync(folder, { recursive: true });
    },
  };
}

async function untilItListens(bouncer: ChildProcess, port: number, said: readonly string[]): Promise<void> {
  while (!(await isListening(port))) {
    if (bouncer.exitCode !== null) throw new Error(`PgBouncer ended: ${said.join('')}`);
    await wait(20);
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

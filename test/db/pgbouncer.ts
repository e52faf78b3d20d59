import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyCertificate } from '../certificates.ts';
import { temporaryFolder } from '../databases.ts';
import { freePort } from '../free-port.ts';
import { untilOpen } from '../open-port.ts';

/** Of the one on the path; null where there is none. */
export function pgBouncerVersion(): { major: number; minor: number } | null {
  const { stdout } = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' });
  const [, major, minor] = /^PgBouncer (\d+)\.(\d+)/m.exec(stdout ?? '') ?? [];
  return major === undefined || minor === undefined ? null : { major: Number(major), minor: Number(minor) };
}

export interface PgBouncer {
  /** The same database through it, encrypted where the URL names an authority to trust. */
  through(url: string, trust?: { authority: string }): string;
  stop(): Promise<void>;
}

/** Fewer connections than any two instances want at once, so that they share them. */
const SERVER_CONNECTIONS = 4;
const NOBODY = 65_534;

/**
 * In transaction mode, in front of the server of the URL, with further lines for its section `[pgbouncer]`. Whoever comes
 * proves by SCRAM that they know the password of the URL.
 */
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
    'auth_type = scram-sha-256',
    `auth_file = ${join(folder, 'users.txt')}`,
    'client_tls_sslmode = allow',
    `client_tls_cert_file = ${join(folder, 'good.crt')}`,
    `client_tls_key_file = ${join(folder, 'receiver.key')}`,
    'pool_mode = transaction',
    `default_pool_size = ${SERVER_CONNECTIONS}`,
    ...lines,
  ];
  writeFileSync(file, `${ini.join('\n')}\n`);
  writeFileSync(join(folder, 'users.txt'), `"${username}" "${password}"\n`);
  // It does not run as root.
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  copyCertificate(folder);
  const bouncer = spawn('pgbouncer', ['-q', file], { ...user, stdio: ['ignore', 'ignore', 'pipe'] });
  const said: string[] = [];
  bouncer.stderr.on('data', (chunk) => said.push(String(chunk)));
  await untilOpen(ownPort, bouncer, () => said.join(''));
  return {
    through(direct, trust) {
      const own = Object.assign(new URL(direct), { port: String(ownPort) });
      if (trust === undefined) return own.href;
      own.hostname = 'localhost';
      own.search = String(new URLSearchParams({ sslmode: 'verify-full', sslrootcert: trust.authority }));
      return own.href;
    },
    async stop() {
      bouncer.kill('SIGKILL');
      if (bouncer.exitCode === null && bouncer.signalCode === null) await once(bouncer, 'exit');
      rmSync(folder, { recursive: true });
    },
  };
}

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { loadEmbeddedPostgres } from '../embedded-postgres.ts';
import { freePort } from '../free-port.ts';
import { until } from '../until.ts';

/** A primary and its synchronous replica: a commit is acknowledged once both have it. */
export interface Replicas {
  primary: { port: number };
  replica: { port: number };
  url: string;
  /** Without a word, as a machine dies. */
  killPrimary(): Promise<void>;
  promote(): Promise<void>;
  remove(): Promise<void>;
}

const NOBODY = 65_534;
/** PostgreSQL does not run as root. */
const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
const QUICK = ['-c', 'fsync=off', '-c', 'full_page_writes=off', '-c', 'shared_buffers=32MB'];

export async function startReplicas(): Promise<Replicas> {
  const { remove: removePrograms } = await loadEmbeddedPostgres();
  const programs = await import(`@embedded-postgres/${process.platform}-${process.arch}`);
  const folder = mkdtempSync(join(tmpdir(), 'signet-replicas-'));
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o755);
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  const [primary, replica] = [{ port: await freePort() }, { port: await freePort() }];
  run(programs.initdb, [
    '-D',
    first,
    '-U',
    'signet',
    '--auth=trust',
    '--encoding=UTF8',
    '--no-locale',
    '--no-sync',
  ]);
  // Nothing has run on it yet, so that a plain copy is a base backup.
  run('cp', ['-a', first, second]);
  writeFileSync(join(second, 'standby.signal'), '');
  const start = (data: string, { port }: { port: number }, settings: readonly string[]): ChildProcess =>
    spawn(
      programs.postgres,
      [
        '-D',
        data,
        '-p',
        String(port),
        '-k',
        '',
        ...[...QUICK, '-c', 'listen_addresses=127.0.0.1', ...settings],
      ],
      { ...user, stdio: 'ignore' },
    );
  const servers = [
    start(first, primary, ['-c', 'synchronous_standby_names=*']),
    start(second, replica, ['-c', `primary_conninfo=host=127.0.0.1 port=${primary.port} user=signet`]),
  ] as const;
  const ask = (at: { port: number }, sql: string) => askAt(urlOf(at), sql);
  await until('the replica', () =>
    ask(primary, "select 1 from pg_stat_replication where sync_state = 'sync'"),
  );
  return {
    primary,
    replica,
    url: urlOf(primary),
    killPrimary: () => kill(servers[0]),
    async promote() {
      await until('the promotion', () => ask(replica, 'select 1 where pg_promote()'));
    },
    async remove() {
      await Promise.all(servers.map(kill));
      // What a killed server leaves behind ends by itself when it notices.
      await wait(100);
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
      removePrograms();
    },
  };
}

const urlOf = ({ port }: { port: number }): string =>
  `postgres://signet@127.0.0.1:${port}/postgres?sslmode=disable`;

function run(program: string, given: readonly string[]): void {
  const { status, stderr } = spawnSync(program, given, {
    ...user,
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  });
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
}

async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill('SIGKILL');
  await once(server, 'exit');
}

/** Whether there is a row. */
async function askAt(url: string, sql: string): Promise<boolean> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query(sql)).rows.length > 0;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadEmbeddedPostgres } from '../../test/embedded-postgres.ts';
import { freePort } from '../../test/free-port.ts';

/** A PostgreSQL server of this benchmark's own, durable as it comes. */
export interface PostgresServer {
  /** Of its first process, the parent of all the others. */
  pid: number;
  createDatabase(name: string): Promise<string>;
  stop(): Promise<void>;
}

/** What a server of eight gigabytes would be given; the rest is as it comes: `fsync` and `synchronous_commit` on. */
const SETTINGS = {
  shared_buffers: '1GB',
  max_wal_size: '4GB',
  effective_cache_size: '4GB',
  random_page_cost: '1.1',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
};

export async function startPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-bench-postgres-'));
  chmodSync(folder, 0o700);
  const port = await freePort();
  const password = 'for-the-benchmark-only';
  const { EmbeddedPostgres, needsUser, remove } = await loadEmbeddedPostgres();
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    user: 'signet',
    password,
    port,
    persistent: false,
    createPostgresUser: needsUser,
    initdbFlags: ['--encoding=UTF8', '--no-locale'],
    postgresFlags: Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  return {
    pid: Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]),
    async createDatabase(name) {
      await server.createDatabase(name);
      return `postgres://signet:${password}@127.0.0.1:${port}/${name}`;
    },
    async stop() {
      await server.stop();
      remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

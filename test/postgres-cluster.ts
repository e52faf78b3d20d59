import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { copyCertificate } from './certificates.ts';
import { loadEmbeddedPostgres } from './embedded-postgres.ts';
import { freePort } from './free-port.ts';

/**
 * A PostgreSQL server in a folder of its own, for as long as somebody holds its standard input open: it goes, and the
 * folder with it, however the one who started it ends. It prints its URL once it answers. A line `stop` or `start` on its
 * input stops and starts the server, and is printed when that is done.
 */

// Only a crash of the whole machine could tell the difference; killing processes cannot.
const WITHOUT_FLUSHES = ['-c', 'fsync=off', '-c', 'full_page_writes=off', '-c', 'wal_init_zero=off'];
// Each of the thousands of connections would otherwise hash the password 4096 times on both sides.
const QUICK_LOGIN = ['-c', 'scram_iterations=1'];
const TLS = ['-c', 'ssl=on', '-c', 'ssl_cert_file=good.crt', '-c', 'ssl_key_file=receiver.key'];
// Far more than the tests need, in less memory and disk than a real one would take.
const SIZE = ['-c', 'max_connections=300', '-c', 'shared_buffers=64MB', '-c', 'max_wal_size=256MB'];

await main();

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-postgres-'));
  const port = await freePort();
  const password = 'for-tests-only';
  const { EmbeddedPostgres, needsUser, remove } = await loadEmbeddedPostgres();
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    user: 'signet',
    password,
    port,
    persistent: true,
    createPostgresUser: needsUser,
    initdbFlags: ['--encoding=UTF8', '--no-locale', '--no-sync', ...QUICK_LOGIN],
    postgresFlags: [...WITHOUT_FLUSHES, ...SIZE, ...TLS, '-c', 'listen_addresses=127.0.0.1', '-k', ''],
    onLog: () => {},
    onError: () => {},
  });
  try {
    await server.initialise();
    // For clients that ask for TLS.
    copyCertificate(folder);
    await server.start();
    process.stdout.write(`postgres://signet:${password}@127.0.0.1:${port}\n`);
    for await (const line of createInterface({ input: process.stdin })) {
      await (line === 'stop' ? server.stop() : server.start());
      process.stdout.write(`${line}\n`);
    }
    await server.stop();
  } finally {
    rmSync(folder, { recursive: true, force: true });
    remove();
  }
  process.exit();
}

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { storeSigningKeys } from './signing-keys.ts';

/**
 * Runs once, before and after all test files (by `run.ts`, or as `--test-global-setup`): chooses the databases, and starts
 * one PostgreSQL server for all of them. What it sets in the environment, the processes of the test files inherit.
 */

const NAMES: Readonly<Record<string, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL' };

let cluster: ChildProcessByStdio<Writable, Readable, null> | null = null;

export async function globalSetup(): Promise<void> {
  const { SIGNET_TEST_DATABASES: chosen = 'sqlite,postgres' } = process.env;
  const kinds = chosen.split(',').map((name) => NAMES[name]);
  if (kinds.includes(undefined)) {
    throw new Error(
      `SIGNET_TEST_DATABASES must be a list of ${Object.keys(NAMES).join(', ')}, not "${chosen}".`,
    );
  }
  // It is none of the settings of the service, which refuses names that it does not know.
  delete process.env['SIGNET_TEST_DATABASES'];
  process.env['TEST_DATABASES'] = kinds.join(',');
  // Each of the many processes would otherwise strip and compile the same files again: half of what its start costs.
  process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '..', 'node_modules', '.cache', 'node');
  storeSigningKeys();
  if (kinds.includes('PostgreSQL')) process.env['TEST_POSTGRES_URL'] = await startCluster();
}

export async function globalTeardown(): Promise<void> {
  if (cluster === null) return;
  cluster.stdin.end();
  await once(cluster, 'close');
}

async function startCluster(): Promise<string> {
  const program = join(import.meta.dirname, 'postgres-cluster.ts');
  // Detached: an interrupt from the keyboard is for the tests, and the server learns of their end by its input.
  cluster = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const [line] = (await Promise.race([
    once(cluster.stdout, 'data'),
    once(cluster, 'close').then(() => ['']),
  ])) as [Buffer | string];
  if (line === '') throw new Error('The PostgreSQL server of the tests did not start.');
  const url = String(line).trim();
  process.env['TEST_POSTGRES_URL'] = url;
  const { createTemplate } = await import('./databases.ts');
  const { openPostgres } = await import('../src/db/postgres.ts');
  await createTemplate(async (template) => {
    await (await openPostgres({ url: template, connections: 1, hasNamedStatements: true })).close();
  });
  return url;
}

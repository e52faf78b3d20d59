import { copyTables } from '../../src/db/copy.ts';
import { tablesToCopy } from '../../src/db/copy-tables.ts';
import { openPostgresTarget } from '../../src/db/postgres-copy.ts';
import { openSqliteSource, openSqliteTarget } from '../../src/db/sqlite-copy.ts';
import { database } from '../../src/settings.ts';

/** A process of its own that copies, and is killed when all rows are in the target and nothing is committed. */

await main();

async function main(): Promise<void> {
  const [from = '', to = ''] = process.argv.slice(2);
  const place = database(to);
  const tables = await tablesToCopy();
  const source = await openSqliteSource(from);
  const target =
    place.kind === 'sqlite'
      ? await openSqliteTarget(place.path)
      : await openPostgresTarget(place.url, tables);
  const settle = async () => {
    process.kill(process.pid, 'SIGKILL');
  };
  await copyTables({ source, target: { ...target, settle } }, tables);
}

import { Checksum } from './checksum.ts';
import type { CopySource, CopyTarget, Row } from './copy-end.ts';
import { type CopyPlace, nameOfPlace } from './copy-place.ts';
import { CopyRefused } from './copy-refused.ts';
import { type CopyTable, tablesToCopy } from './copy-tables.ts';
import type { Queries } from './database.ts';
import { pendingMigrations } from './migrate.ts';
import { openPostgresSource, openPostgresTarget } from './postgres-copy.ts';
import { openSqliteSource, openSqliteTarget } from './sqlite-copy.ts';

export interface CopiedTable {
  table: string;
  rows: number;
  /** Of all rows, the same on both sides. */
  checksum: string;
  /** Rows with a character that the target has no place for. */
  changedRows: number;
}

/**
 * Carries all rows of one database to another, empty one. It is one transaction there: whatever goes wrong, the target
 * is left as it was. `inspect` sees the source first and may refuse it.
 */
export async function copyDatabase(
  { from, to }: { from: CopyPlace; to: CopyPlace },
  inspect: (source: Queries) => Promise<void> = async () => {},
): Promise<CopiedTable[]> {
  const tables = await tablesToCopy();
  return withEnd(await openSource(from), async (source) => {
    await requireUpToDate(source, from);
    await inspect(source.queries);
    return withEnd(await openTarget(to, tables), async (target) => {
      await requireEmpty(target, { to, tables });
      return copyTables({ source, target }, tables);
    });
  });
}

/** Copies, reads everything back, compares, and only then commits. */
export async function copyTables(
  ends: { source: CopySource; target: CopyTarget },
  tables: readonly CopyTable[],
): Promise<CopiedTable[]> {
  const copied: CopiedTable[] = [];
  for (const table of tables) copied.push(await copyTable(ends, table));
  await ends.target.settle(tables);
  for (const table of tables) await verify(ends, { table, copied });
  await ends.target.commit();
  return copied;
}

/** The checksum of all rows that a database has in a table. */
export async function checksumOf(
  end: CopySource,
  table: CopyTable,
): Promise<{ rows: number; checksum: string }> {
  const checksum = new Checksum();
  for await (const rows of pages(end, table)) checksum.add(rows);
  return { rows: checksum.rows, checksum: checksum.digest() };
}

async function copyTable(
  { source, target }: { source: CopySource; target: CopyTarget },
  table: CopyTable,
): Promise<CopiedTable> {
  const checksum = new Checksum();
  let changedRows = 0;
  for await (const rows of pages(source, table)) {
    const storable = rows.map((row) => row.map((cell) => target.toStorable(cell)));
    changedRows += rows.filter((row, index) => row.some((cell, at) => cell !== storable[index]?.[at])).length;
    checksum.add(storable);
    await target.insert(table, storable);
  }
  return { table: table.name, rows: checksum.rows, checksum: checksum.digest(), changedRows };
}

async function* pages(end: CopySource, table: CopyTable): AsyncGenerator<Row[]> {
  let rows = await end.page(table, null);
  while (rows.length > 0) {
    yield rows;
    rows = await end.page(table, rows.at(-1) ?? null);
  }
}

/** The source is counted by another query than the one that read it, which might have left rows out. */
async function verify(
  { source, target }: { source: CopySource; target: CopyTarget },
  { table, copied }: { table: CopyTable; copied: readonly CopiedTable[] },
): Promise<void> {
  const expected = copied.find((entry) => entry.table === table.name);
  const found = await checksumOf(target, table);
  const isSame = found.rows === expected?.rows && found.checksum === expected.checksum;
  if (isSame && found.rows === (await source.count(table))) return;
  throw new CopyRefused(
    'failed',
    `The copy of the table ${table.name} differs from what was read. Nothing was copied: try again, and see that nothing else writes the target.`,
  );
}

async function requireUpToDate({ queries }: CopySource, from: CopyPlace): Promise<void> {
  const pending = await pendingMigrations(queries);
  if (pending.length === 0) return;
  throw new CopyRefused(
    'migrations_pending',
    `The tables of ${nameOfPlace(from)} are not those of this version: ${pending.join(', ')} is missing. Run "signet migrate" there first, with SIGNET_DATABASE_URL set to it.`,
  );
}

async function requireEmpty(
  target: CopyTarget,
  { to, tables }: { to: CopyPlace; tables: readonly CopyTable[] },
): Promise<void> {
  const filled: string[] = [];
  for (const table of tables) if ((await target.page(table, null)).length > 0) filled.push(table.name);
  if (filled.length === 0) return;
  throw new CopyRefused(
    'conflict',
    `${nameOfPlace(to)} is not empty: there are rows in ${filled.join(', ')}. Name a database that nobody has used.`,
  );
}

async function openSource(place: CopyPlace): Promise<CopySource> {
  return place.kind === 'sqlite' ? openSqliteSource(place.path) : openPostgresSource(place.url);
}

async function openTarget(place: CopyPlace, tables: readonly CopyTable[]): Promise<CopyTarget> {
  return place.kind === 'sqlite' ? openSqliteTarget(place.path) : openPostgresTarget(place.url, tables);
}

async function withEnd<End extends CopySource, T>(end: End, use: (end: End) => Promise<T>): Promise<T> {
  try {
    return await use(end);
  } finally {
    await end.close();
  }
}

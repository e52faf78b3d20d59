import { type Migration, Migrator } from 'kysely/migration';
import * as initial from '../../migrations/0001_initial.ts';
import * as deliveryEngine from '../../migrations/0002_delivery_engine.ts';
import { DatabaseUnusable, type Queries } from './database.ts';

/** In order; a name that was once released never changes. */
const migrations: Record<string, Migration> = {
  '0001_initial': initial,
  '0002_delivery_engine': deliveryEngine,
};

const MIGRATION_TABLE = 'schema_migrations';

/** Brings the tables up to this version; refuses a database that a newer version has changed. */
export async function migrate(db: Queries): Promise<void> {
  await refuseNewerDatabase(db);
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    migrationTableName: MIGRATION_TABLE,
    migrationLockTableName: 'schema_migrations_lock',
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

async function refuseNewerDatabase(db: Queries): Promise<void> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some((table) => table.name === MIGRATION_TABLE)) return;
  const applied = await db
    .withTables<{ [MIGRATION_TABLE]: { name: string } }>()
    .selectFrom(MIGRATION_TABLE)
    .select('name')
    .execute();
  const unknown = applied.map((row) => row.name).filter((name) => !(name in migrations));
  if (unknown.length === 0) return;
  throw new DatabaseUnusable(
    `The database was made by a newer version of Signet (it has ${unknown.join(', ')}). Run that version or a later one.`,
  );
}

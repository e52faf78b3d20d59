import { type Migration, Migrator } from 'kysely/migration';
import * as initial from '../../migrations/0001_initial.ts';
import * as deliveryEngine from '../../migrations/0002_delivery_engine.ts';
import * as auditLog from '../../migrations/0003_audit_log.ts';
import * as administratorRoles from '../../migrations/0004_administrator_roles.ts';
import * as growth from '../../migrations/0005_growth.ts';
import * as tokenWrites from '../../migrations/0006_token_writes.ts';
import { DatabaseUnusable, type Queries } from './database.ts';

/** In order; a name that was once released never changes. */
const migrations: Record<string, Migration> = {
  '0001_initial': initial,
  '0002_delivery_engine': deliveryEngine,
  '0003_audit_log': auditLog,
  '0004_administrator_roles': administratorRoles,
  '0005_growth': growth,
  '0006_token_writes': tokenWrites,
};

const MIGRATION_TABLE = 'schema_migrations';
const LOCK_TABLE = 'schema_migrations_lock';

/** The tables in which a database keeps which migrations it has; all others are made by these. */
export const MIGRATION_TABLES: readonly string[] = [MIGRATION_TABLE, LOCK_TABLE];

/**
 * Brings the tables up to this version and answers what it applied; refuses a database that a newer version has
 * changed.
 */
export async function migrate(db: Queries): Promise<string[]> {
  refuseUnknown(await appliedMigrations(db));
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    migrationTableName: MIGRATION_TABLE,
    migrationLockTableName: LOCK_TABLE,
  });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  return results.map(({ migrationName }) => migrationName);
}

/** Every migration of this version: what a new database has yet to get. */
export const allMigrations = Object.keys(migrations);

/** What `migrate` would apply. */
export async function pendingMigrations(db: Queries): Promise<string[]> {
  const applied = await appliedMigrations(db);
  refuseUnknown(applied);
  return allMigrations.filter((name) => !applied.includes(name));
}

async function appliedMigrations(db: Queries): Promise<string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some((table) => table.name === MIGRATION_TABLE)) return [];
  const rows = await db
    .withTables<{ [MIGRATION_TABLE]: { name: string } }>()
    .selectFrom(MIGRATION_TABLE)
    .select('name')
    .execute();
  return rows.map((row) => row.name);
}

function refuseUnknown(applied: readonly string[]): void {
  const unknown = applied.filter((name) => !(name in migrations));
  if (unknown.length === 0) return;
  throw new DatabaseUnusable(
    `The database was made by a newer version of Signet (it has ${unknown.join(', ')}). Run that version or a later one.`,
  );
}

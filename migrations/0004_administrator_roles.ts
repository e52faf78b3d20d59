import type { Kysely } from 'kysely';

/** What administrators may do, where, and the keys of their scripts. Those who are there may do everything, as before. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;

  await schema
    .alterTable('administrators')
    .addColumn('role', 'text', (column) => column.notNull().defaultTo('owner'))
    .execute();
  await schema
    .alterTable('administrators')
    .addColumn('organization_id', 'text', (column) => column.references('organizations.id'))
    .execute();
  await schema
    .createIndex('administrators_organization')
    .on('administrators')
    .column('organization_id')
    .execute();

  await schema
    .createTable('administrator_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('administrator_id', 'text', (column) =>
      column.notNull().references('administrators.id').onDelete('cascade'),
    )
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull().unique())
    .addColumn('prefix', 'text', (column) => column.notNull())
    .addColumn('role', 'text')
    .addColumn('expires_at', 'bigint')
    .addColumn('last_used_at', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await schema
    .createIndex('administrator_keys_administrator')
    .on('administrator_keys')
    .columns(['administrator_id', 'id'])
    .execute();
}

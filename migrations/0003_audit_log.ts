import type { Kysely } from 'kysely';

/** Who did what to what, each entry bound to the one before it; and where the chain of them begins and ends. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;

  await schema
    .createTable('audit_entries')
    .addColumn('position', 'bigint', (column) => column.primaryKey())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('actor_kind', 'text', (column) => column.notNull())
    .addColumn('actor_id', 'text')
    .addColumn('actor_name', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('target_kind', 'text', (column) => column.notNull())
    .addColumn('target_id', 'text', (column) => column.notNull())
    .addColumn('target_name', 'text', (column) => column.notNull())
    .addColumn('organization_id', 'text')
    .addColumn('request_id', 'text')
    .addColumn('address', 'text')
    .addColumn('fields_before', 'text')
    .addColumn('fields_after', 'text')
    .addColumn('previous_hash', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .execute();
  for (const column of ['actor_id', 'target_id', 'organization_id', 'action']) {
    await schema
      .createIndex(`audit_entries_${column}`)
      .on('audit_entries')
      .columns([column, 'position'])
      .execute();
  }
  await schema.createIndex('audit_entries_time').on('audit_entries').column('created_at').execute();

  // `head` is the newest entry; `anchor` the last one that was removed for its age. Both are missing at first.
  await schema
    .createTable('audit_chain')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('position', 'bigint', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('seal', 'text', (column) => column.notNull())
    .execute();
}

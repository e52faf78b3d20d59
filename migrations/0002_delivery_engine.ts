import { type Kysely, sql } from 'kysely';
import { makeFinal } from '../src/db/final-column.ts';

/** What sending needs beyond the outbox: when, how often, with which outcome. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;

  for (const [column, type] of [
    ['previous_secret', 'text'],
    ['previous_secret_expires_at', 'bigint'],
    ['last_success_at', 'bigint'],
    ['deactivated_at', 'bigint'],
    ['deleted_at', 'bigint'],
  ] as const) {
    await schema.alterTable('webhooks').addColumn(column, type).execute();
  }
  await schema
    .alterTable('webhooks')
    .addColumn('failing_attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();

  await schema
    .alterTable('deliveries')
    .addColumn('max_attempts', 'integer', (column) => column.notNull().defaultTo(1))
    .execute();
  await schema
    .alterTable('deliveries')
    .addColumn('next_attempt_at', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await schema.alterTable('deliveries').addColumn('failure_reason', 'text').execute();
  // Only what waits is in it, so that a claim costs the same with any history and any backlog.
  await schema
    .createIndex('deliveries_due')
    .on('deliveries')
    .columns(['webhook_id', 'next_attempt_at'])
    .where(sql.ref('status'), 'in', ['pending', 'retrying'])
    .execute();
  await makeFinal(db, { table: 'deliveries', column: 'status', values: ['delivered', 'failed', 'dead'] });

  await schema
    .createTable('delivery_attempts')
    .addColumn('id', 'bigserial', (column) => column.primaryKey())
    .addColumn('delivery_id', 'text', (column) => column.notNull())
    .addColumn('attempt', 'integer', (column) => column.notNull())
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('duration_ms', 'integer', (column) => column.notNull())
    .addColumn('status_code', 'integer')
    .addColumn('error', 'text')
    .addColumn('response_start', 'text')
    .execute();
  await schema
    .createIndex('delivery_attempts_delivery')
    .on('delivery_attempts')
    .columns(['delivery_id', 'attempt'])
    .unique()
    .execute();
}

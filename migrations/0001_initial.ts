import type { Kysely } from 'kysely';

/** Portable DDL: text, integer, bigint (epoch milliseconds) and bigserial. `src/db/` makes the dialects of it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const schema = db.schema;

  await schema
    .createTable('service_metadata')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute();

  await schema
    .createTable('administrators')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('email', 'text', (column) => column.notNull().unique())
    .addColumn('password_hash', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();

  await schema
    .createTable('organizations')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('slug', 'text', (column) => column.notNull().unique())
    .addColumn('owner_email', 'text', (column) => column.notNull())
    .addColumn('plan', 'text', (column) => column.notNull())
    .addColumn('jwt_expiry_secs', 'integer')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();

  await schema
    .createTable('teams')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('organization_id', 'text', (column) => column.notNull().references('organizations.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await schema.createIndex('teams_organization').on('teams').columns(['organization_id', 'id']).execute();

  await schema
    .createTable('agents')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('client_id', 'text', (column) => column.notNull().unique())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('is_active', 'integer', (column) => column.notNull())
    .addColumn('organization_id', 'text', (column) => column.references('organizations.id'))
    .addColumn('team_id', 'text', (column) => column.references('teams.id'))
    .addColumn('expires_at', 'bigint')
    .addColumn('token_epoch', 'integer', (column) => column.notNull())
    .addColumn('token_count', 'bigint', (column) => column.notNull())
    .addColumn('refresh_count', 'bigint', (column) => column.notNull())
    .addColumn('last_activity_at', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await schema.createIndex('agents_organization').on('agents').columns(['organization_id', 'id']).execute();
  await schema.createIndex('agents_team').on('agents').columns(['team_id', 'id']).execute();

  // No foreign keys on the way of a token: an ended secret stays as a mark until its refresh tokens, which may be
  // millions, are pruned in small steps.
  await schema
    .createTable('client_secrets')
    .addColumn('id', 'bigserial', (column) => column.primaryKey())
    .addColumn('agent_id', 'text', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('last_used_at', 'bigint')
    .execute();
  await schema.createIndex('client_secrets_agent').on('client_secrets').column('agent_id').execute();
  await schema.createIndex('client_secrets_expiry').on('client_secrets').column('expires_at').execute();

  await schema
    .createTable('secret_rotations')
    .addColumn('id', 'bigserial', (column) => column.primaryKey())
    .addColumn('agent_id', 'text', (column) => column.notNull().references('agents.id').onDelete('cascade'))
    .addColumn('rotated_at', 'bigint', (column) => column.notNull())
    .execute();
  await schema
    .createIndex('secret_rotations_agent')
    .on('secret_rotations')
    .columns(['agent_id', 'id'])
    .execute();

  await schema
    .createTable('refresh_tokens')
    .addColumn('id', 'bigserial', (column) => column.primaryKey())
    .addColumn('client_secret_id', 'bigint', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull())
    .addColumn('grant_id', 'text', (column) => column.notNull())
    .addColumn('sequence', 'integer', (column) => column.notNull())
    .addColumn('token_epoch', 'integer', (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('issued_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('used_at', 'bigint')
    .execute();
  await schema.createIndex('refresh_tokens_secret').on('refresh_tokens').column('client_secret_id').execute();
  await schema.createIndex('refresh_tokens_expiry').on('refresh_tokens').column('expires_at').execute();

  await schema
    .createTable('revoked_tokens')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
  await schema.createIndex('revoked_tokens_expiry').on('revoked_tokens').column('expires_at').execute();

  await schema
    .createTable('signing_keys')
    .addColumn('kid', 'text', (column) => column.primaryKey())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('public_jwk', 'text', (column) => column.notNull())
    .addColumn('private_key', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('activated_at', 'bigint')
    .addColumn('retired_at', 'bigint')
    .addColumn('remove_at', 'bigint')
    .execute();
  // At most one key is active and one is next, whatever two rotations at once try.
  await schema
    .createIndex('signing_keys_single')
    .on('signing_keys')
    .column('status')
    .unique()
    .where('status', 'in', ['active', 'next'])
    .execute();

  await schema
    .createTable('webhooks')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('events', 'text', (column) => column.notNull())
    .addColumn('is_active', 'integer', (column) => column.notNull())
    .addColumn('max_retries', 'integer', (column) => column.notNull())
    .addColumn('consecutive_fails', 'integer', (column) => column.notNull())
    .addColumn('secret', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();

  await schema
    .createTable('events')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('payload', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();

  await schema
    .createTable('deliveries')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('webhook_id', 'text', (column) => column.notNull())
    .addColumn('event_id', 'text', (column) => column.notNull())
    .addColumn('event_type', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('last_attempt_at', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await schema.createIndex('deliveries_webhook').on('deliveries').columns(['webhook_id', 'id']).execute();
}

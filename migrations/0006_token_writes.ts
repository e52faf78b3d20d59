import type { Kysely } from 'kysely';

/**
 * Two pages less for each token: which refresh tokens came from a secret is asked by nobody, and the use of an agent's
 * newest secret is noted in the agent's row, which a token changes anyway.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('refresh_tokens_secret').execute();
  await db.schema.alterTable('agents').addColumn('secret_used_at', 'bigint').execute();
}

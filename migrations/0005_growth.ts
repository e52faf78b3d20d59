import { type Kysely, sql } from 'kysely';
import { setFillFactor } from '../src/db/fill-factor.ts';

/**
 * What a token changes is to cost the same among a million agents: on PostgreSQL by room in the pages for what changes,
 * and everywhere by indexes that agents without an organization or a team are not in.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await setFillFactor(db, 'agents', 80);
  await setFillFactor(db, 'client_secrets', 90);
  await setFillFactor(db, 'refresh_tokens', 90);
  for (const [name, column] of [
    ['agents_organization', 'organization_id'],
    ['agents_team', 'team_id'],
  ] as const) {
    await db.schema.dropIndex(name).execute();
    await db.schema
      .createIndex(name)
      .on('agents')
      .columns([column, 'id'])
      .where(sql.ref(column), 'is not', null)
      .execute();
  }
}

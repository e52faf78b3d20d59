import type { Selectable } from 'kysely';
import type { Queries, Tables } from '../db/database.ts';
import type { Page } from '../schema.ts';
import type { Team } from './organization.ts';

/** A team is always looked up inside its organization: an identifier from another one finds nothing. */
export interface TeamKey {
  organizationId: string;
  id: string;
}

export async function insertTeam(tx: Queries, team: Team): Promise<void> {
  await tx
    .insertInto('teams')
    .values({
      id: team.id,
      organization_id: team.organizationId,
      name: team.name,
      description: team.description,
      created_at: team.createdAt,
    })
    .execute();
}

export async function findTeam(db: Queries, key: TeamKey): Promise<Team | null> {
  const row = await db
    .selectFrom('teams')
    .selectAll()
    .where('id', '=', key.id)
    .where('organization_id', '=', key.organizationId)
    .executeTakeFirst();
  return row === undefined ? null : toTeam(row);
}

/** At most `page.limit + 1` teams, newest first. */
export async function listTeams(db: Queries, organizationId: string, page: Page): Promise<Team[]> {
  let query = db
    .selectFrom('teams')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (page.cursor !== null) query = query.where('id', '<', page.cursor);
  return (await query.execute()).map(toTeam);
}

export async function updateTeam(tx: Queries, team: Team): Promise<void> {
  await tx
    .updateTable('teams')
    .set({ name: team.name, description: team.description })
    .where('id', '=', team.id)
    .execute();
}

export async function deleteTeam(tx: Queries, id: string): Promise<void> {
  await tx.deleteFrom('teams').where('id', '=', id).execute();
}

function toTeam(row: Selectable<Tables['teams']>): Team {
  return {
    id: row.id,
    organizationId: row.organization_id,
    name: row.name,
    description: row.description,
    createdAt: row.created_at,
  };
}

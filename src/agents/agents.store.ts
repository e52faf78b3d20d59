import { type Selectable, sql } from 'kysely';
import { type Queries, type Tables, toFlag } from '../db/database.ts';
import { lowerCase } from '../db/lower-case.ts';
import type { Page } from '../schema.ts';
import type { Agent } from './agent.ts';
import { formatScope, splitScope } from './scope.ts';

export interface AgentFilter {
  /** All that there is for whoever asks is in this organization. */
  within?: string;
  organizationId?: string;
  teamId?: string;
  isActive?: boolean;
  /** A part of the name, in any case, or a whole client_id. */
  search?: string;
}

export async function insertAgent(tx: Queries, agent: Agent): Promise<void> {
  await tx
    .insertInto('agents')
    .values({ ...toRow(agent), secret_used_at: null })
    .execute();
}

export async function findAgent(db: Queries, id: string): Promise<Agent | null> {
  const row = await db.selectFrom('agents').selectAll().where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toAgent(row);
}

/** At most `page.limit + 1` agents, newest first. */
export async function listAgents(db: Queries, filter: AgentFilter, page: Page): Promise<Agent[]> {
  let query = db
    .selectFrom('agents')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (page.cursor !== null) query = query.where('id', '<', page.cursor);
  if (filter.within !== undefined) query = query.where('organization_id', '=', filter.within);
  if (filter.organizationId !== undefined) query = query.where('organization_id', '=', filter.organizationId);
  if (filter.teamId !== undefined) query = query.where('team_id', '=', filter.teamId);
  if (filter.isActive !== undefined) query = query.where('is_active', '=', toFlag(filter.isActive));
  const search = filter.search;
  if (search !== undefined) {
    query = query.where((or) =>
      or.or([
        or('client_id', '=', search),
        sql<boolean>`${lowerCase(db, 'name')} like ${containing(search)} escape '\\'`,
      ]),
    );
  }
  return (await query.execute()).map(toAgent);
}

export async function updateAgent(tx: Queries, agent: Agent): Promise<void> {
  const { name, scopes, is_active, team_id, expires_at, token_epoch } = toRow(agent);
  await tx
    .updateTable('agents')
    .set({ name, scopes, is_active, team_id, expires_at, token_epoch })
    .where('id', '=', agent.id)
    .execute();
}

export async function deleteAgent(tx: Queries, id: string): Promise<void> {
  await tx.deleteFrom('agents').where('id', '=', id).execute();
}

export async function detachFromTeam(tx: Queries, teamId: string): Promise<void> {
  await tx.updateTable('agents').set({ team_id: null }).where('team_id', '=', teamId).execute();
}

/** Written only where the last activity is older than `notSince`, so that reads do not become writes. */
export async function touchActivity(
  tx: Queries,
  activity: { agentId: string; now: number; notSince: number },
): Promise<void> {
  await tx
    .updateTable('agents')
    .set({ last_activity_at: activity.now })
    .where('id', '=', activity.agentId)
    .where((or) =>
      or.or([or('last_activity_at', 'is', null), or('last_activity_at', '<=', activity.notSince)]),
    )
    .execute();
}

function containing(text: string): string {
  return `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
}

function toAgent(row: Selectable<Tables['agents']>): Agent {
  return {
    id: row.id,
    clientId: row.client_id,
    name: row.name,
    scopes: splitScope(row.scopes),
    isActive: row.is_active === 1,
    organizationId: row.organization_id,
    teamId: row.team_id,
    expiresAt: row.expires_at,
    tokenEpoch: row.token_epoch,
    tokenCount: row.token_count,
    refreshCount: row.refresh_count,
    lastActivityAt: row.last_activity_at,
    createdAt: row.created_at,
  };
}

function toRow(agent: Agent): Omit<Selectable<Tables['agents']>, 'secret_used_at'> {
  return {
    id: agent.id,
    client_id: agent.clientId,
    name: agent.name,
    scopes: formatScope(agent.scopes),
    is_active: toFlag(agent.isActive),
    organization_id: agent.organizationId,
    team_id: agent.teamId,
    expires_at: agent.expiresAt,
    token_epoch: agent.tokenEpoch,
    token_count: agent.tokenCount,
    refresh_count: agent.refreshCount,
    last_activity_at: agent.lastActivityAt,
    created_at: agent.createdAt,
  };
}

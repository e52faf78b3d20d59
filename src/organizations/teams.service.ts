import { detachFromTeam } from '../agents/agents.store.ts';
import type { Actor } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Clock } from '../clock.ts';
import type { Database, Queries } from '../db/database.ts';
import { notFound } from '../errors.ts';
import type { Ids } from '../ids.ts';
import type { Team } from './organization.ts';
import { requireOrganization } from './organizations.service.ts';
import { teamCreation, teamDeletion, teamUpdate } from './teams.audit.ts';
import { deleteTeam, findTeam, insertTeam, type TeamKey, updateTeam } from './teams.store.ts';

export interface TeamsDeps {
  database: Database;
  clock: Clock;
  ids: Ids;
  audit: AuditLog;
}

export async function createTeam(
  deps: TeamsDeps,
  input: Pick<Team, 'organizationId' | 'name' | 'description'>,
  by: Actor,
): Promise<Team> {
  const team: Team = { id: deps.ids.newId('team'), ...input, createdAt: deps.clock.now() };
  await deps.database.audited(async (tx) => {
    await requireOrganization(tx, team.organizationId);
    await insertTeam(tx, team);
    await deps.audit.record(tx, by, teamCreation(team));
  });
  return team;
}

export async function changeTeam(
  deps: TeamsDeps,
  key: TeamKey,
  changes: Partial<Pick<Team, 'name' | 'description'>>,
  by: Actor,
): Promise<Team> {
  return deps.database.audited(async (tx) => {
    const before = await requireTeam(tx, key);
    const after = { ...before, ...changes };
    await updateTeam(tx, after);
    await deps.audit.record(tx, by, teamUpdate(before, after));
    return after;
  });
}

/** Its agents stay in the organization. */
export async function removeTeam(deps: TeamsDeps, key: TeamKey, by: Actor): Promise<void> {
  await deps.database.audited(async (tx) => {
    const team = await requireTeam(tx, key);
    await detachFromTeam(tx, key.id);
    await deleteTeam(tx, key.id);
    await deps.audit.record(tx, by, teamDeletion(team));
  });
}

export async function requireTeam(db: Queries, key: TeamKey): Promise<Team> {
  const team = await findTeam(db, key);
  if (team === null) throw notFound('team');
  return team;
}

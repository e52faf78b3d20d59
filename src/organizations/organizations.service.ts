import { administratorRemoval } from '../admin/administrators.audit.ts';
import { deleteAdministratorsOf } from '../admin/administrators.store.ts';
import { type AgentsDeps, removeAgentWithin } from '../agents/agents.service.ts';
import { listAgents } from '../agents/agents.store.ts';
import type { Actor } from '../audit/actor.ts';
import type { Change, Fields, Target } from '../audit/entry.ts';
import { type Queries, UniqueViolation } from '../db/database.ts';
import { conflict, notFound } from '../errors.ts';
import type { Organization, Team } from './organization.ts';
import { toOrganizationView } from './organizations.schema.ts';
import {
  deleteOrganization,
  findOrganization,
  insertOrganization,
  updateOrganization,
} from './organizations.store.ts';
import { teamDeletion } from './teams.audit.ts';
import { deleteTeam, listTeams } from './teams.store.ts';

export interface NewOrganization {
  name: string;
  slug: string;
  ownerEmail: string;
}

/** What is absent stays as it is; null restores the default. */
export interface OrganizationChanges {
  name?: string;
  jwtExpirySeconds?: number | null;
}

type Deps = AgentsDeps;

export async function createOrganization(
  deps: Deps,
  input: NewOrganization,
  by: Actor,
): Promise<Organization> {
  const organization: Organization = {
    id: deps.ids.newId('org'),
    ...input,
    plan: 'free',
    jwtExpirySeconds: null,
    createdAt: deps.clock.now(),
  };
  try {
    await deps.database.audited(async (tx) => {
      await insertOrganization(tx, organization);
      const created = { action: 'organization.created', ...placeOf(organization) } as const;
      await deps.audit.record(tx, by, { ...created, after: audited(organization) });
    });
  } catch (error) {
    if (error instanceof UniqueViolation) throw conflict('slug: it is taken. Choose another one.');
    throw error;
  }
  return organization;
}

export async function changeOrganization(
  deps: Deps,
  id: string,
  changes: OrganizationChanges,
  by: Actor,
): Promise<Organization> {
  return deps.database.audited(async (tx) => {
    const before = await requireOrganization(tx, id);
    const after = { ...before, ...changes };
    await updateOrganization(tx, after);
    const states = { before: audited(before), after: audited(after) };
    await deps.audit.record(tx, by, { action: 'organization.updated', ...placeOf(after), ...states });
    return after;
  });
}

const ROWS_PER_STEP = 200;

/**
 * Deletes its agents, each with its event, then its teams, its administrators and itself. More of them than one step holds
 * go in several
 * transactions, so that nobody waits behind them; a crash in between leaves an organization that can be deleted again.
 */
export async function removeOrganization(deps: Deps, id: string, by: Actor): Promise<void> {
  let isDone = false;
  while (!isDone) isDone = await deps.database.audited((tx) => removeSome(deps, tx, { id, by }));
}

async function removeSome(deps: Deps, tx: Queries, { id, by }: { id: string; by: Actor }): Promise<boolean> {
  const organization = await requireOrganization(tx, id);
  const page = { limit: ROWS_PER_STEP, cursor: null };
  const agents = await listAgents(tx, { organizationId: id }, page);
  const teams = agents.length > ROWS_PER_STEP ? [] : await listTeams(tx, id, page);
  const isLast = agents.length <= ROWS_PER_STEP && teams.length <= ROWS_PER_STEP;
  const removals: Change[] = [];
  for (const agent of agents) removals.push(await removeAgentWithin(tx, deps, agent, by));
  for (const team of teams) removals.push(await removeTeam(tx, team));
  if (isLast) removals.push(...(await removeItself(tx, organization)));
  await deps.audit.record(tx, by, ...removals);
  return isLast;
}

async function removeTeam(tx: Queries, team: Team): Promise<Change> {
  await deleteTeam(tx, team.id);
  return teamDeletion(team);
}

/** With those who are bound to it. */
async function removeItself(tx: Queries, organization: Organization): Promise<Change[]> {
  const administrators = await deleteAdministratorsOf(tx, organization.id);
  await deleteOrganization(tx, organization.id);
  return [
    ...administrators.map(administratorRemoval),
    { action: 'organization.deleted', ...placeOf(organization), before: audited(organization) },
  ];
}

const placeOf = ({ id, name }: Organization): { target: Target; organizationId: string } => ({
  target: { kind: 'organization', id, name },
  organizationId: id,
});

function audited(organization: Organization): Fields {
  const { id, ...fields } = toOrganizationView(organization);
  return fields;
}

export async function requireOrganization(db: Queries, id: string): Promise<Organization> {
  const organization = await findOrganization(db, id);
  if (organization === null) throw notFound('organization');
  return organization;
}

import { deleteAdministratorsOf } from '../admin/administrators.store.ts';
import { type AgentsDeps, removeAgentWithin } from '../agents/agents.service.ts';
import { listAgents } from '../agents/agents.store.ts';
import { type Queries, UniqueViolation } from '../db/database.ts';
import { conflict, notFound } from '../errors.ts';
import type { Organization } from './organization.ts';
import {
  deleteOrganization,
  findOrganization,
  insertOrganization,
  updateOrganization,
} from './organizations.store.ts';
import { deleteTeamsOf } from './teams.store.ts';

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

export async function createOrganization(deps: Deps, input: NewOrganization): Promise<Organization> {
  const organization: Organization = {
    id: deps.ids.newId('org'),
    ...input,
    plan: 'free',
    jwtExpirySeconds: null,
    createdAt: deps.clock.now(),
  };
  try {
    await deps.database.transaction((tx) => insertOrganization(tx, organization));
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
): Promise<Organization> {
  return deps.database.transaction(async (tx) => {
    const organization = { ...(await requireOrganization(tx, id)), ...changes };
    await updateOrganization(tx, organization);
    return organization;
  });
}

const AGENTS_PER_STEP = 200;

/**
 * Deletes its agents, each with its event, then its administrators, its teams and itself. More agents than one step holds go in several
 * transactions, so that nobody waits behind them; a crash in between leaves an organization that can be deleted again.
 */
export async function removeOrganization(deps: Deps, id: string): Promise<void> {
  let isDone = false;
  while (!isDone) isDone = await deps.database.transaction((tx) => removeSome(deps, tx, id));
}

async function removeSome(deps: Deps, tx: Queries, id: string): Promise<boolean> {
  await requireOrganization(tx, id);
  const page = { limit: AGENTS_PER_STEP, cursor: null };
  const agents = await listAgents(tx, { organizationId: id }, page);
  for (const agent of agents) await removeAgentWithin(tx, deps, agent, 'administrator');
  if (agents.length > AGENTS_PER_STEP) return false;
  await deleteAdministratorsOf(tx, id);
  await deleteTeamsOf(tx, id);
  await deleteOrganization(tx, id);
  return true;
}

export async function requireOrganization(db: Queries, id: string): Promise<Organization> {
  const organization = await findOrganization(db, id);
  if (organization === null) throw notFound('organization');
  return organization;
}

import type { Actor } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Change, Fields, Target } from '../audit/entry.ts';
import { type Clock, toTimestamp } from '../clock.ts';
import type { Database, Queries } from '../db/database.ts';
import { conflict, invalidRequest, notFound } from '../errors.ts';
import { changedNames } from '../events/changes.ts';
import type { AgentSubject } from '../events/event.ts';
import type { Outbox } from '../events/outbox.ts';
import { type ClientSecret, digestSecret, type Ids } from '../ids.ts';
import { findOrganization } from '../organizations/organizations.store.ts';
import { findTeam } from '../organizations/teams.store.ts';
import type { Agent } from './agent.ts';
import { toAgentView } from './agents.schema.ts';
import { deleteAgent, findAgent, insertAgent, updateAgent } from './agents.store.ts';
import { endSecrets, insertRotation, insertSecret, listLivingSecrets } from './secrets.store.ts';

export interface AgentsDeps {
  database: Database;
  clock: Clock;
  ids: Ids;
  outbox: Outbox;
  audit: AuditLog;
}

export interface NewAgent {
  name: string;
  scopes: readonly string[];
  organizationId: string | null;
  teamId: string | null;
  expiresInSeconds: number | null;
}

/** What is absent stays as it is; null takes a value away. */
export interface AgentChanges {
  name?: string;
  scopes?: readonly string[];
  isActive?: boolean;
  teamId?: string | null;
  expiresInSeconds?: number | null;
}

/** More would make each token request compare against each of them. */
const MOST_LIVING_SECRETS = 5;

export async function createAgent(
  deps: AgentsDeps,
  input: NewAgent,
  by: Actor,
): Promise<{ agent: Agent; clientSecret: ClientSecret }> {
  const { database, clock, ids, outbox, audit } = deps;
  const now = clock.now();
  const clientSecret = ids.newClientSecret();
  const agent: Agent = {
    id: ids.newId('agent'),
    clientId: ids.newId('cid'),
    name: input.name,
    scopes: input.scopes,
    isActive: true,
    organizationId: input.organizationId,
    teamId: input.teamId,
    expiresAt: expiryFrom(now, input.expiresInSeconds),
    tokenEpoch: 0,
    tokenCount: 0,
    refreshCount: 0,
    lastActivityAt: null,
    createdAt: now,
  };
  await database.audited(async (tx) => {
    await requireOrganization(tx, agent.organizationId);
    await requireTeam(tx, agent);
    await insertAgent(tx, agent);
    await insertSecret(tx, { agentId: agent.id, digest: digestSecret(clientSecret), createdAt: now });
    await outbox.publish(tx, 'agent.created', subjectOf(agent));
    await audit.record(tx, by, { action: 'agent.created', ...placeOf(agent), after: audited(agent) });
  });
  return { agent, clientSecret };
}

export async function changeAgent(
  deps: AgentsDeps,
  id: string,
  changes: AgentChanges,
  by: Actor,
): Promise<Agent> {
  return deps.database.audited(async (tx) => {
    const before = await requireAgent(tx, id);
    const after = applyChanges(before, changes, deps.clock.now());
    if (after.teamId !== before.teamId) await requireTeam(tx, after);
    await updateAgent(tx, after);
    const names = changedNames(before, after, CHANGEABLE);
    if (names.length > 0) {
      await deps.outbox.publish(tx, 'agent.updated', {
        ...subjectOf(after),
        changes: names,
        updated_by: by.kind,
      });
    }
    const states = { before: audited(before), after: audited(after) };
    await deps.audit.record(tx, by, { action: 'agent.updated', ...placeOf(after), ...states });
    return after;
  });
}

/** Ends every token that the agent has; new ones can be got at once. */
export async function revokeAllTokens(deps: AgentsDeps, id: string, by: Actor): Promise<Agent> {
  return deps.database.audited(async (tx) => {
    const before = await requireAgent(tx, id);
    const after = { ...before, tokenEpoch: before.tokenEpoch + 1 };
    await updateAgent(tx, after);
    await deps.outbox.publish(tx, 'agent.updated', {
      ...subjectOf(after),
      changes: ['tokens'],
      updated_by: by.kind,
    });
    await deps.audit.record(tx, by, { action: 'agent.tokens_revoked', ...placeOf(after) });
    return after;
  });
}

/** The old secret ends at once or after its grace period; refresh tokens end with the secret that they come from. */
export async function rotateSecret(
  deps: AgentsDeps,
  id: string,
  { gracePeriodSeconds, by }: { gracePeriodSeconds: number; by: Actor },
): Promise<{ agent: Agent; clientSecret: ClientSecret; previousSecretsExpireAt: number }> {
  const { database, clock, ids, outbox, audit } = deps;
  const clientSecret = ids.newClientSecret();
  return database.audited(async (tx) => {
    const agent = await requireAgent(tx, id);
    const now = clock.now();
    const previousSecretsExpireAt = now + gracePeriodSeconds * 1000;
    if (gracePeriodSeconds > 0) await refuseManySecrets(tx, id, now);
    await endSecrets(tx, id, previousSecretsExpireAt);
    await insertSecret(tx, { agentId: id, digest: digestSecret(clientSecret), createdAt: now });
    await insertRotation(tx, id, now);
    await outbox.publish(tx, 'agent.credentials_rotated', {
      ...subjectOf(agent),
      rotated_by: by.kind,
      previous_secrets_expire_at: toTimestamp(previousSecretsExpireAt),
    });
    await audit.record(tx, by, {
      action: 'agent.credentials_rotated',
      ...placeOf(agent),
      after: { previous_secrets_expire_at: toTimestamp(previousSecretsExpireAt) },
    });
    return { agent, clientSecret, previousSecretsExpireAt };
  });
}

export async function removeAgent(deps: AgentsDeps, id: string, by: Actor): Promise<void> {
  await deps.database.audited(async (tx) => {
    await deps.audit.record(tx, by, await removeAgentWithin(tx, deps, await requireAgent(tx, id), by));
  });
}

/** For callers that delete agents as a part of something larger; what it answers is theirs to record. */
export async function removeAgentWithin(
  tx: Queries,
  deps: Pick<AgentsDeps, 'clock' | 'outbox'>,
  agent: Agent,
  by: Actor,
): Promise<Change> {
  await endSecrets(tx, agent.id, deps.clock.now());
  await deleteAgent(tx, agent.id);
  await deps.outbox.publish(tx, 'agent.deleted', { ...subjectOf(agent), deleted_by: by.kind });
  return { action: 'agent.deleted', ...placeOf(agent), before: audited(agent) };
}

export function subjectOf(agent: {
  id: string;
  name: string;
  clientId: string;
  organizationId: string | null;
}): AgentSubject {
  return {
    agent_id: agent.id,
    agent_name: agent.name,
    client_id: agent.clientId,
    organization_id: agent.organizationId,
  };
}

const placeOf = ({ id, name, organizationId }: Agent): { target: Target; organizationId: string | null } => ({
  target: { kind: 'agent', id, name },
  organizationId,
});

/** Counters are no part of a change. */
function audited(agent: Agent): Fields {
  const { id, token_count, refresh_count, last_activity_at, ...fields } = toAgentView(agent);
  return fields;
}

async function requireAgent(tx: Queries, id: string): Promise<Agent> {
  const agent = await findAgent(tx, id);
  if (agent === null) throw notFound('agent');
  return agent;
}

async function requireOrganization(tx: Queries, id: string | null): Promise<void> {
  if (id === null || (await findOrganization(tx, id)) !== null) return;
  throw noSuchOrganization();
}

export const noSuchOrganization = () => invalidRequest('organization_id: there is no such organization.');

async function requireTeam(tx: Queries, agent: Pick<Agent, 'organizationId' | 'teamId'>): Promise<void> {
  if (agent.teamId === null) return;
  if (agent.organizationId === null) {
    throw invalidRequest('team_id: an agent of a team needs the organization_id of that team.');
  }
  if ((await findTeam(tx, { organizationId: agent.organizationId, id: agent.teamId })) === null) {
    throw invalidRequest('team_id: the organization has no such team.');
  }
}

async function refuseManySecrets(tx: Queries, agentId: string, now: number): Promise<void> {
  const living = await listLivingSecrets(tx, agentId, now);
  if (living.length < MOST_LIVING_SECRETS) return;
  throw conflict(
    `The agent has ${MOST_LIVING_SECRETS} living secrets. Rotate without a grace period, or wait until one ends.`,
  );
}

function applyChanges(agent: Agent, changes: AgentChanges, now: number): Agent {
  return {
    ...agent,
    name: changes.name ?? agent.name,
    scopes: changes.scopes ?? agent.scopes,
    isActive: changes.isActive ?? agent.isActive,
    // Deactivation ends the agent's tokens for good: reactivating it does not bring a stolen one back.
    tokenEpoch: agent.tokenEpoch + (agent.isActive && changes.isActive === false ? 1 : 0),
    teamId: changes.teamId === undefined ? agent.teamId : changes.teamId,
    expiresAt:
      changes.expiresInSeconds === undefined ? agent.expiresAt : expiryFrom(now, changes.expiresInSeconds),
  };
}

const CHANGEABLE = [
  ['name', 'name'],
  ['scopes', 'scopes'],
  ['isActive', 'is_active'],
  ['teamId', 'team_id'],
  ['expiresAt', 'expires_at'],
] as const;

const expiryFrom = (now: number, seconds: number | null): number | null =>
  seconds === null ? null : now + seconds * 1000;

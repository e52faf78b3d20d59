import type { Change, Fields, Target } from '../audit/entry.ts';
import type { Team } from './organization.ts';
import { toTeamView } from './organizations.schema.ts';

/** What the audit log is told of teams, which go by themselves or with their organization. */

export const teamCreation = (team: Team): Change => ({
  action: 'team.created',
  ...placeOf(team),
  after: audited(team),
});

export const teamUpdate = (before: Team, after: Team): Change => ({
  action: 'team.updated',
  ...placeOf(after),
  before: audited(before),
  after: audited(after),
});

export const teamDeletion = (team: Team): Change => ({
  action: 'team.deleted',
  ...placeOf(team),
  before: audited(team),
});

const placeOf = ({ id, name, organizationId }: Team): { target: Target; organizationId: string } => ({
  target: { kind: 'team', id, name },
  organizationId,
});

function audited(team: Team): Fields {
  const { id, ...fields } = toTeamView(team);
  return fields;
}

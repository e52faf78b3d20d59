import { type Static, Type } from 'typebox';
import { toTimestamp } from '../clock.ts';
import { Body, Id, idParam, Name, NextCursor, Nullable, pageQuery, Timestamp } from '../schema.ts';
import { LONGEST_TOKEN_SECONDS, type Organization, type Team } from './organization.ts';

const Slug = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  description: 'Lower-case letters, digits and single hyphens between them; unique.',
  examples: ['acme'],
});

const JwtExpiry = Nullable(
  Type.Integer({
    minimum: 1,
    maximum: LONGEST_TOKEN_SECONDS,
    description:
      'How long access tokens of its agents live, in seconds; null for the default of the service.',
  }),
);

const OrganizationView = Type.Object(
  {
    id: Id('org'),
    name: Type.String({ examples: ['Acme'] }),
    slug: Type.String({ examples: ['acme'] }),
    owner_email: Type.String({ examples: ['owner@acme.example'] }),
    plan: Type.String({ examples: ['free'] }),
    jwt_expiry_secs: Nullable(Type.Integer()),
    created_at: Timestamp,
  },
  { title: 'Organization' },
);

const TeamView = Type.Object(
  {
    id: Id('team'),
    name: Type.String({ examples: ['Payments'] }),
    description: Type.String(),
    organization_id: Id('org'),
    created_at: Timestamp,
  },
  { title: 'Team' },
);

const Description = Type.String({ maxLength: 1000, description: 'At most 1,000 characters.' });

export const OrganizationParams = Type.Object({ id: idParam('org') });
export const TeamsParams = Type.Object({ org_id: idParam('org') });
export const TeamParams = Type.Object({ org_id: idParam('org'), team_id: idParam('team') });
export const OrganizationListQuery = Body(pageQuery('org'));
export const TeamListQuery = Body(pageQuery('team'));

export const CreateOrganization = Body({
  name: Name,
  slug: Slug,
  owner_email: Type.String({ format: 'email', maxLength: 254, examples: ['owner@acme.example'] }),
});
export const UpdateOrganization = Body(
  { name: Type.Optional(Name), jwt_expiry_secs: Type.Optional(JwtExpiry) },
  { minProperties: 1 },
);
export const CreateTeam = Body({ name: Name, description: Type.Optional(Description) });
export const UpdateTeam = Body(
  { name: Type.Optional(Name), description: Type.Optional(Description) },
  { minProperties: 1 },
);

export const OrganizationAnswer = OrganizationView;
export const OrganizationList = Type.Object({
  organizations: Type.Array(OrganizationView),
  next_cursor: NextCursor,
});
export const TeamAnswer = TeamView;
export const TeamList = Type.Object({ teams: Type.Array(TeamView), next_cursor: NextCursor });

export function toOrganizationView(organization: Organization): Static<typeof OrganizationView> {
  return {
    id: organization.id,
    name: organization.name,
    slug: organization.slug,
    owner_email: organization.ownerEmail,
    plan: organization.plan,
    jwt_expiry_secs: organization.jwtExpirySeconds,
    created_at: toTimestamp(organization.createdAt),
  };
}

export function toTeamView(team: Team): Static<typeof TeamView> {
  return {
    id: team.id,
    name: team.name,
    description: team.description,
    organization_id: team.organizationId,
    created_at: toTimestamp(team.createdAt),
  };
}

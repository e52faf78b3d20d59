import { type Static, Type } from 'typebox';
import { toTimestamp, toTimestampOrNull } from '../clock.ts';
import { Body, Id, idParam, Name, NextCursor, Nullable, pageQuery, Timestamp } from '../schema.ts';
import type { Agent, LivingSecret } from './agent.ts';

const TEN_YEARS_SECONDS = 315_360_000;

const Secret = Type.String({
  description: 'Shown this once. Keep it where secrets are kept.',
  examples: ['cs_4y0vq0gk1c1n7x2f8m5tj3b6d9s0w4z8h2r7p1k5n3q9v6c8e2t0'],
});
const ClientId = Type.String({ examples: ['cid_01k0d4v3s6e8wbn7xtq5mzr2ch'] });

const agentFields = {
  id: Id('agent'),
  name: Type.String({ examples: ['invoice-importer'] }),
  client_id: ClientId,
  scopes: Type.Array(Type.String(), { examples: [['read', 'write']] }),
  is_active: Type.Boolean(),
  organization_id: Nullable(Id('org')),
  team_id: Nullable(Id('team')),
  expires_at: Nullable(Timestamp),
  created_at: Timestamp,
  token_count: Type.Integer({ description: 'Access tokens issued, by any grant.' }),
  refresh_count: Type.Integer({ description: 'Refreshes.' }),
  last_activity_at: Nullable(Timestamp),
};

const AgentView = Type.Object(agentFields, { title: 'Agent' });

const AgentWithSecrets = Type.Object({
  ...agentFields,
  secrets: Type.Array(
    Type.Object({
      created_at: Timestamp,
      expires_at: Nullable(Timestamp),
      last_used_at: Nullable(Timestamp),
    }),
    { description: 'The secrets that still work, newest first; never their values.' },
  ),
});

/** The settings decide which scopes there are, so the bodies that name scopes are made from them. */
export function agentBodies(configuredScopes: readonly string[]) {
  const Scopes = Type.Array(Type.String({ enum: [...configuredScopes] }), {
    minItems: 1,
    uniqueItems: true,
    description: `Each one of: ${configuredScopes.join(', ')}.`,
    examples: [configuredScopes.slice(0, 2)],
  });
  const ExpiresIn = Type.Integer({
    minimum: 1,
    maximum: TEN_YEARS_SECONDS,
    description: 'Seconds until the agent itself expires, at most ten years.',
  });
  return {
    CreateAgent: Body({
      name: Name,
      scopes: Type.Optional(Scopes),
      organization_id: Type.Optional(Nullable(Type.String({ examples: ['org_01k0d4v3s6e8wbn7xtq5mzr2ch'] }))),
      team_id: Type.Optional(Nullable(Type.String())),
      expires_in: Type.Optional(Nullable(ExpiresIn)),
    }),
    UpdateAgent: Body(
      {
        name: Type.Optional(Name),
        scopes: Type.Optional(Scopes),
        is_active: Type.Optional(Type.Boolean()),
        team_id: Type.Optional(Nullable(Type.String())),
        expires_in: Type.Optional(Nullable(ExpiresIn)),
      },
      { minProperties: 1 },
    ),
  };
}

export const DEFAULT_SCOPES = ['read'] as const;

const GracePeriod = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 604_800,
    default: 0,
    description: 'Seconds for which the secrets until now keep working beside the new one.',
    examples: [3600],
  }),
);

export const AgentAction = Body({
  action: Type.String({ enum: ['rotate', 'deactivate', 'reactivate', 'revoke_tokens'] }),
  grace_period_secs: GracePeriod,
});

/** No body at all is as good as an empty one. */
export const RotateMe = Nullable(Body({ grace_period_secs: GracePeriod }));

export const AgentParams = Type.Object({ id: idParam('agent') });

export const AgentListQuery = Body({
  ...pageQuery('agent'),
  organization_id: Type.Optional(Type.String()),
  team_id: Type.Optional(Type.String()),
  is_active: Type.Optional(Type.Boolean()),
  q: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'A part of the name, or a whole client_id.' }),
  ),
});

export const AgentCreated = Type.Object({ agent: AgentView, client_id: ClientId, client_secret: Secret });
export const AgentList = Type.Object({ agents: Type.Array(AgentView), next_cursor: NextCursor });
export const AgentAnswer = Type.Object({ agent: AgentView });
export const AgentDetail = Type.Object({ agent: AgentWithSecrets });
export const SecretRotated = Type.Object({
  client_id: ClientId,
  client_secret: Secret,
  previous_secrets_expire_at: Timestamp,
});
export const ActionDone = Type.Object({
  message: Type.Optional(Type.String()),
  agent: Type.Optional(AgentView),
  ...Type.Partial(SecretRotated).properties,
});
export const Usage = Type.Object({
  token_count: Type.Integer(),
  refresh_count: Type.Integer(),
  last_activity_at: Nullable(Timestamp),
  rotation_history: Type.Array(Type.Object({ rotated_at: Timestamp }), {
    description: 'Newest first, the latest hundred.',
  }),
});
export const Message = Type.Object({
  message: Type.String({ examples: ['The agent is deactivated. An administrator can reactivate it.'] }),
});

export function toAgentView(agent: Agent): Static<typeof AgentView> {
  return {
    id: agent.id,
    name: agent.name,
    client_id: agent.clientId,
    scopes: [...agent.scopes],
    is_active: agent.isActive,
    organization_id: agent.organizationId,
    team_id: agent.teamId,
    expires_at: toTimestampOrNull(agent.expiresAt),
    created_at: toTimestamp(agent.createdAt),
    token_count: agent.tokenCount,
    refresh_count: agent.refreshCount,
    last_activity_at: toTimestampOrNull(agent.lastActivityAt),
  };
}

export function toSecretView(secret: LivingSecret) {
  return {
    created_at: toTimestamp(secret.createdAt),
    expires_at: toTimestampOrNull(secret.expiresAt),
    last_used_at: toTimestampOrNull(secret.lastUsedAt),
  };
}

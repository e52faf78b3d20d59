import { type Static, Type } from 'typebox';
import { toTimestamp, toTimestampOrNull } from '../clock.ts';
import { Body, Id, idParam, Name, NextCursor, Nullable, pageQuery, Timestamp } from '../schema.ts';
import {
  type Administrator,
  EMAIL_PATTERN,
  LONGEST_EMAIL,
  LONGEST_PASSWORD,
  ROLES,
  type Role,
  SHORTEST_PASSWORD,
} from './administrator.ts';
import type { ApiKey } from './api-key.ts';

const TEN_YEARS_SECONDS = 315_360_000;

const RoleName = Type.Unsafe<Role>(Type.String({ enum: [...ROLES], examples: ['operator'] }));

const AdministratorView = Type.Object(
  {
    id: Id('admin'),
    email: Type.String({ examples: ['operator@signet.example'] }),
    role: RoleName,
    organization_id: Nullable(Id('org')),
    created_at: Timestamp,
  },
  { title: 'Administrator' },
);

const ApiKeyView = Type.Object(
  {
    id: Id('key'),
    name: Type.String({ examples: ['terraform'] }),
    prefix: Type.String({ description: 'How the key begins.', examples: ['sk_4y0vq0'] }),
    role: Nullable(RoleName),
    expires_at: Nullable(Timestamp),
    last_used_at: Nullable(Timestamp),
    created_at: Timestamp,
  },
  { title: 'ApiKey' },
);

const Email = Type.String({
  maxLength: LONGEST_EMAIL,
  pattern: EMAIL_PATTERN.source,
  description: 'Kept in lower case; without a colon.',
  examples: ['operator@signet.example'],
});
const Password = Type.String({ minLength: SHORTEST_PASSWORD, maxLength: LONGEST_PASSWORD });
const OrganizationId = Nullable(
  Type.String({
    description: 'The one organization that the administrator sees and changes; null for everything.',
    examples: ['org_01k0d4v3s6e8wbn7xtq5mzr2ch'],
  }),
);
const RevokeKeys = Type.Optional(
  Type.Boolean({ default: false, description: 'True ends all API keys of the administrator.' }),
);

export const CreateAdministrator = Body({
  email: Email,
  role: RoleName,
  organization_id: Type.Optional(OrganizationId),
  password: Type.Optional(Password),
});
export const UpdateAdministrator = Body(
  {
    email: Type.Optional(Email),
    role: Type.Optional(RoleName),
    organization_id: Type.Optional(OrganizationId),
    password: Type.Optional(Password),
    revoke_keys: RevokeKeys,
  },
  { minProperties: 1 },
);
export const ChangeOwnPassword = Body({
  current_password: Type.String({ maxLength: LONGEST_PASSWORD, examples: ['the one until now'] }),
  password: Password,
  revoke_keys: RevokeKeys,
});
export const CreateApiKey = Body({
  name: Name,
  role: Type.Optional(Nullable(RoleName)),
  expires_in: Type.Optional(
    Nullable(
      Type.Integer({
        minimum: 1,
        maximum: TEN_YEARS_SECONDS,
        description: 'Seconds until the key ends, at most ten years; without it, never.',
      }),
    ),
  ),
});

export const AdministratorParams = Type.Object({ id: idParam('admin') });
export const KeyOfAdministratorParams = Type.Object({ id: idParam('admin'), key_id: idParam('key') });
export const OwnKeyParams = Type.Object({ key_id: idParam('key') });
export const AdministratorListQuery = Body(pageQuery('admin'));
export const ApiKeyListQuery = Body(pageQuery('key'));

export const AdministratorCreated = Type.Object({
  administrator: AdministratorView,
  password: Type.Optional(
    Type.String({ description: 'Where none was sent: the one that was made. Shown this once.' }),
  ),
});
export const AdministratorAnswer = Type.Object({ administrator: AdministratorView });
export const Myself = Type.Object({ administrator: AdministratorView, key: Nullable(ApiKeyView) });
export const AdministratorList = Type.Object({
  administrators: Type.Array(AdministratorView),
  next_cursor: NextCursor,
});
export const ApiKeyCreated = Type.Object({
  key: ApiKeyView,
  secret: Type.String({
    description: 'The API key itself. Shown this once.',
    examples: ['sk_4y0vq0gk1c1n7x2f8m5tj3b6d9s0w4z8h2r7p1k5n3q9v6c8e2t0'],
  }),
});
export const ApiKeyList = Type.Object({ keys: Type.Array(ApiKeyView), next_cursor: NextCursor });

export function toAdministratorView(administrator: Administrator): Static<typeof AdministratorView> {
  return {
    id: administrator.id,
    email: administrator.email,
    role: administrator.role,
    organization_id: administrator.organizationId,
    created_at: toTimestamp(administrator.createdAt),
  };
}

export function toApiKeyView(key: ApiKey): Static<typeof ApiKeyView> {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    role: key.role,
    expires_at: toTimestampOrNull(key.expiresAt),
    last_used_at: toTimestampOrNull(key.lastUsedAt),
    created_at: toTimestamp(key.createdAt),
  };
}

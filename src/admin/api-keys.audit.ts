import type { AuditAction, Change, Fields } from '../audit/entry.ts';
import { toTimestamp, toTimestampOrNull } from '../clock.ts';
import type { Administrator } from './administrator.ts';
import type { ApiKey } from './api-key.ts';

export const apiKeyAddition = (key: ApiKey, owner: Administrator): Change => ({
  ...told('api_key.added', key, owner),
  after: fieldsOf(key),
});

export const apiKeyRemoval = (key: ApiKey, owner: Administrator): Change => ({
  ...told('api_key.removed', key, owner),
  before: fieldsOf(key),
});

const told = (action: AuditAction, { id, name }: ApiKey, { organizationId }: Administrator): Change => ({
  action,
  target: { kind: 'api_key', id, name },
  organizationId,
});

/** Nothing of the secret, not even how it begins: every viewer reads the log. */
const fieldsOf = ({ administratorId, name, role, expiresAt, createdAt }: ApiKey): Fields => ({
  administrator_id: administratorId,
  name,
  role,
  expires_at: toTimestampOrNull(expiresAt),
  created_at: toTimestamp(createdAt),
});

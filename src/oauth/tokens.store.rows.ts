import { splitScope } from '../agents/scope.ts';
import type { Happening } from '../events/outbox.ts';
import type { SecretDigest } from '../ids.ts';
import type { Client, ClientSecretRow, StoredRefreshToken } from './tokens.store.ts';

/** What the statements of both databases select of an agent, under names that no other table of theirs has. */
export const CLIENT_COLUMNS = `agents.id as agent_id, agents.client_id, agents.name, agents.scopes as agent_scopes,
  agents.is_active, agents.expires_at as agent_expires_at, agents.token_epoch as agent_epoch,
  agents.organization_id, agents.team_id`;

export interface ClientRow {
  agent_id: string | null;
  client_id: string;
  name: string;
  agent_scopes: string;
  is_active: number;
  agent_expires_at: number | null;
  agent_epoch: number;
  organization_id: string | null;
  team_id: string | null;
  jwt_expiry_secs?: number | null;
}

export interface RefreshTokenRow extends ClientRow {
  id: number;
  client_secret_id: number;
  digest: string;
  grant_id: string;
  sequence: number;
  token_epoch: number;
  scopes: string;
  issued_at: number;
  expires_at: number;
  used_at: number | null;
  secret_expires_at: number | null;
  revoked_id: string | null;
}

export interface SecretRow {
  id: number;
  digest: string;
  expires_at: number | null;
  last_used_at: number | null;
}

export function toClient(row: ClientRow | undefined): Client | null {
  if (row === undefined || row.agent_id === null) return null;
  return {
    agentId: row.agent_id,
    clientId: row.client_id,
    name: row.name,
    scopes: splitScope(row.agent_scopes),
    isActive: row.is_active === 1,
    expiresAt: row.agent_expires_at,
    tokenEpoch: row.agent_epoch,
    organizationId: row.organization_id,
    teamId: row.team_id,
    jwtExpirySeconds: row.jwt_expiry_secs ?? null,
    secrets: [],
  };
}

export const toClientSecret = (row: SecretRow): ClientSecretRow => ({
  id: row.id,
  digest: row.digest as SecretDigest,
  expiresAt: row.expires_at,
  lastUsedAt: row.last_used_at,
});

export function toStoredRefreshToken(row: RefreshTokenRow | undefined): StoredRefreshToken | null {
  if (row === undefined) return null;
  return {
    id: row.id,
    clientSecretId: row.client_secret_id,
    digest: row.digest as SecretDigest,
    grantId: row.grant_id,
    sequence: row.sequence,
    tokenEpoch: row.token_epoch,
    scopes: splitScope(row.scopes),
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    usedAt: row.used_at,
    secretExpiresAt: row.secret_expires_at,
    client: toClient(row),
    isGrantRevoked: row.revoked_id !== null,
  };
}

/** What is to be told of those that came to something. */
export function happeningsOf<Item extends { happening: Happening | null }>(
  items: readonly Item[],
  hasHappened: (item: Item, index: number) => boolean,
): Happening[] {
  return items.flatMap((item, index) =>
    item.happening !== null && hasHappened(item, index) ? [item.happening] : [],
  );
}

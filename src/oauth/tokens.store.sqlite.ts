import { formatScope, splitScope } from '../agents/scope.ts';
import type { Queries } from '../db/database.ts';
import type { SqliteDatabase } from '../db/sqlite.ts';
import { translated } from '../db/sqlite-dialect.ts';
import type { SecretDigest } from '../ids.ts';
import type {
  Client,
  ClientLookup,
  ClientSecretRow,
  IssuedGrant,
  NewGrant,
  NewRefreshToken,
  RefreshClaim,
  RefreshOutcome,
  Revocation,
  StoredRefreshToken,
  TokenLookup,
  TokenState,
  TokensStore,
} from './tokens.store.ts';

const CLIENT_COLUMNS = `agents.id as agent_id, agents.client_id, agents.name, agents.scopes as agent_scopes,
  agents.is_active, agents.expires_at as agent_expires_at, agents.token_epoch as agent_epoch,
  agents.organization_id, agents.team_id`;

const sql = {
  client: `select ${CLIENT_COLUMNS}, organizations.jwt_expiry_secs from agents
    left join organizations on organizations.id = agents.organization_id where agents.client_id = ?`,
  livingSecrets: `select id, digest, last_used_at from client_secrets
    where agent_id = ? and (expires_at is null or expires_at > ?)`,
  refreshToken: `select refresh_tokens.*, client_secrets.expires_at as secret_expires_at, ${CLIENT_COLUMNS},
    organizations.jwt_expiry_secs, revoked_tokens.id as revoked_id from refresh_tokens
    join client_secrets on client_secrets.id = refresh_tokens.client_secret_id
    left join agents on agents.id = client_secrets.agent_id
    left join organizations on organizations.id = agents.organization_id
    left join revoked_tokens on revoked_tokens.id = refresh_tokens.grant_id
    where refresh_tokens.id = ?`,
  agentState: `select ${CLIENT_COLUMNS} from agents where id = ?`,
  isRevoked: 'select 1 from revoked_tokens where id in (?, ?) limit 1',
  countTokens: `update agents set token_count = token_count + ?, refresh_count = refresh_count + ?,
    last_activity_at = ? where id = ?`,
  touchSecret: 'update client_secrets set last_used_at = ? where id = ?',
  insertRefreshToken: `insert into refresh_tokens
    (client_secret_id, digest, grant_id, sequence, token_epoch, scopes, issued_at, expires_at)
    values (?, ?, ?, ?, ?, ?, ?, ?)`,
  claimRefreshToken: 'update refresh_tokens set used_at = ? where id = ? and used_at is null',
  revoke: 'insert into revoked_tokens (id, expires_at) values (?, ?) on conflict (id) do nothing',
};

interface ClientRow {
  agent_id: string | null;
  client_id: string;
  name: string;
  agent_scopes: string;
  is_active: number;
  agent_expires_at: number | null;
  agent_epoch: number;
  organization_id: string | null;
  team_id: string | null;
  jwt_expiry_secs: number | null;
}

interface RefreshTokenRow extends ClientRow {
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

/** Loops over prepared statements: on SQLite a statement is a function call, and only the commit is dear. */
export class SqliteTokensStore implements TokensStore {
  readonly #database: SqliteDatabase;

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  async findClients(lookups: readonly ClientLookup[]): Promise<(Client | null)[]> {
    return translated(() => lookups.map((lookup) => this.#findClient(lookup)));
  }

  async findRefreshTokens(ids: readonly number[]): Promise<(StoredRefreshToken | null)[]> {
    const statement = this.#database.prepareRead(sql.refreshToken);
    return translated(() => ids.map((id) => toStoredRefreshToken(statement.get(id))));
  }

  issue(grants: readonly NewGrant[]): Promise<(IssuedGrant | null)[]> {
    return this.#database.transaction(async (tx) => {
      const present = this.#count(grants, { tokens: 1, refreshes: 0 });
      const issued: (IssuedGrant | null)[] = [];
      for (const grant of grants) {
        issued.push(present.has(grant.agentId) ? await this.#storeGrant(tx, grant) : null);
      }
      return issued;
    });
  }

  refresh(claims: readonly RefreshClaim[]): Promise<RefreshOutcome[]> {
    return this.#database.transaction(async (tx) => {
      const won = claims.filter((claim) => this.#claim(claim));
      this.#count(won, { tokens: 1, refreshes: 1 });
      const outcomes: RefreshOutcome[] = [];
      for (const claim of claims) {
        outcomes.push(won.includes(claim) ? await this.#storeSuccessor(tx, claim) : this.#endGrant(claim));
      }
      return outcomes;
    });
  }

  async findTokenStates(lookups: readonly TokenLookup[]): Promise<TokenState[]> {
    const agentState = this.#database.prepareRead(sql.agentState);
    const isRevoked = this.#database.prepareRead(sql.isRevoked);
    return translated(() =>
      lookups.map(({ agentId, tokenId, grantId }) => ({
        agent: toClient(agentState.get(agentId)),
        isRevoked: isRevoked.get(tokenId, grantId) !== undefined,
      })),
    );
  }

  revoke(revocations: readonly Revocation[]): Promise<boolean[]> {
    return this.#database.transaction(async () =>
      revocations.map(({ id, expiresAt }) => this.#run(sql.revoke, id, expiresAt).changes === 1),
    );
  }

  #findClient({ clientId, now }: ClientLookup): Client | null {
    const client = toClient(this.#database.prepareRead(sql.client).get(clientId));
    // Asked for an unknown client too, which so costs what a known one costs.
    const rows = this.#database.prepareRead(sql.livingSecrets).all(client?.agentId ?? '', now);
    return client === null ? null : { ...client, secrets: rows.map(toClientSecret) };
  }

  /** One update per agent, however many of its tokens the batch holds; returns the agents that exist. */
  #count(
    items: ReadonlyArray<{ agentId: string; now: number }>,
    each: { tokens: number; refreshes: number },
  ) {
    const perAgent = new Map<string, { count: number; now: number }>();
    for (const { agentId, now } of items) {
      perAgent.set(agentId, { count: (perAgent.get(agentId)?.count ?? 0) + 1, now });
    }
    const present = new Set<string>();
    for (const [agentId, { count, now }] of perAgent) {
      const changes = this.#run(
        sql.countTokens,
        count * each.tokens,
        count * each.refreshes,
        now,
        agentId,
      ).changes;
      if (changes === 1) present.add(agentId);
    }
    return present;
  }

  async #storeGrant(tx: Queries, grant: NewGrant): Promise<IssuedGrant> {
    if (grant.usedSecretId !== null) this.#run(sql.touchSecret, grant.now, grant.usedSecretId);
    const refreshTokenId = grant.refreshToken === null ? null : this.#insert(grant.refreshToken, grant.now);
    await grant.publish?.(tx);
    return { refreshTokenId };
  }

  #claim(claim: RefreshClaim): boolean {
    return this.#run(sql.claimRefreshToken, claim.now, claim.id).changes === 1;
  }

  async #storeSuccessor(tx: Queries, claim: RefreshClaim): Promise<RefreshOutcome> {
    const refreshTokenId = this.#insert(claim.successor, claim.now);
    await claim.publish?.(tx);
    return { status: 'refreshed', refreshTokenId };
  }

  #endGrant(claim: RefreshClaim): RefreshOutcome {
    this.#run(sql.revoke, claim.successor.grantId, claim.rememberUntil);
    return { status: 'reused' };
  }

  #insert(token: NewRefreshToken, issuedAt: number): number {
    const { lastInsertRowid } = this.#run(
      sql.insertRefreshToken,
      token.clientSecretId,
      token.digest,
      token.grantId,
      token.sequence,
      token.tokenEpoch,
      formatScope(token.scopes),
      issuedAt,
      token.expiresAt,
    );
    return Number(lastInsertRowid);
  }

  #run(text: string, ...parameters: (string | number | null)[]) {
    return translated(() => this.#database.prepareWrite(text).run(...parameters));
  }
}

function toClient(row: unknown): Client | null {
  const client = row as ClientRow | undefined;
  if (client === undefined || client.agent_id === null) return null;
  return {
    agentId: client.agent_id,
    clientId: client.client_id,
    name: client.name,
    scopes: splitScope(client.agent_scopes),
    isActive: client.is_active === 1,
    expiresAt: client.agent_expires_at,
    tokenEpoch: client.agent_epoch,
    organizationId: client.organization_id,
    teamId: client.team_id,
    jwtExpirySeconds: client.jwt_expiry_secs ?? null,
    secrets: [],
  };
}

function toClientSecret(row: unknown): ClientSecretRow {
  const secret = row as { id: number; digest: string; last_used_at: number | null };
  return { id: secret.id, digest: secret.digest as SecretDigest, lastUsedAt: secret.last_used_at };
}

function toStoredRefreshToken(found: unknown): StoredRefreshToken | null {
  const row = found as RefreshTokenRow | undefined;
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

import { formatScope } from '../agents/scope.ts';
import type { Queries } from '../db/database.ts';
import type { SqliteDatabase } from '../db/sqlite.ts';
import { translated } from '../db/sqlite-dialect.ts';
import type { Happening } from '../events/outbox.ts';
import {
  CLIENT_COLUMNS,
  type ClientRow,
  happeningsOf,
  type RefreshTokenRow,
  type SecretRow,
  toClient,
  toClientSecret,
  toStoredRefreshToken,
} from './tokens.store.rows.ts';
import type {
  Client,
  ClientLookup,
  IssuedGrant,
  NewGrant,
  NewRefreshToken,
  PublishAll,
  RefreshClaim,
  RefreshOutcome,
  Revocation,
  StoredRefreshToken,
  TokenLookup,
  TokenState,
  TokensStore,
  UsedSecret,
} from './tokens.store.ts';

const sql = {
  client: `select ${CLIENT_COLUMNS}, organizations.jwt_expiry_secs from agents
    left join organizations on organizations.id = agents.organization_id where agents.client_id = ?`,
  livingSecrets: `select id, digest, expires_at, last_used_at from client_secrets
    where agent_id = ? and (expires_at is null or expires_at > ?)`,
  refreshToken: `select refresh_tokens.*, client_secrets.expires_at as secret_expires_at, ${CLIENT_COLUMNS},
    organizations.jwt_expiry_secs, revoked_tokens.id as revoked_id from refresh_tokens
    join client_secrets on client_secrets.id = refresh_tokens.client_secret_id
    left join agents on agents.id = client_secrets.agent_id
    left join organizations on organizations.id = agents.organization_id
    left join revoked_tokens on revoked_tokens.id = refresh_tokens.grant_id
    where refresh_tokens.id = ?`,
  // A row also for an agent that is no more. Two lookups by key: for `in` SQLite makes a list first, which costs more.
  tokenState: `select ${CLIENT_COLUMNS}, exists (select 1 from revoked_tokens where id = ?2
      union all select 1 from revoked_tokens where id = ?3) as is_revoked
    from (select 1) left join agents on agents.id = ?1`,
  countTokens: `update agents set token_count = token_count + ?1, refresh_count = refresh_count + ?2,
    last_activity_at = ?3, secret_used_at = case
      when exists (select 1 from client_secrets where id = ?4 and expires_at is null) then ?3 else secret_used_at end
    where id = ?5`,
  touchSecret: 'update client_secrets set last_used_at = ? where id = ?',
  insertRefreshToken: `insert into refresh_tokens
    (client_secret_id, digest, grant_id, sequence, token_epoch, scopes, issued_at, expires_at)
    values (?, ?, ?, ?, ?, ?, ?, ?)`,
  claimRefreshToken: 'update refresh_tokens set used_at = ? where id = ? and used_at is null',
  revoke: 'insert into revoked_tokens (id, expires_at) values (?, ?) on conflict (id) do nothing',
};

type StateRow = ClientRow & { is_revoked: 0 | 1 };

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
    return translated(() =>
      ids.map((id) => toStoredRefreshToken(statement.get(id) as RefreshTokenRow | undefined)),
    );
  }

  issue(grants: readonly NewGrant[], publishAll: PublishAll): Promise<(IssuedGrant | null)[]> {
    return this.#database.transaction(async (tx) => {
      const present = this.#count(grants, { tokens: 1, refreshes: 0 });
      const isPresent = ({ agentId }: NewGrant) => present.has(agentId);
      const issued = grants.map((grant) => (isPresent(grant) ? this.#storeGrant(grant) : null));
      await publishSome(tx, publishAll, happeningsOf(grants, isPresent));
      return issued;
    });
  }

  refresh(claims: readonly RefreshClaim[], publishAll: PublishAll): Promise<RefreshOutcome[]> {
    return this.#database.transaction(async (tx) => {
      const won = new Set(claims.filter((claim) => this.#claim(claim)));
      this.#count([...won], { tokens: 1, refreshes: 1 });
      const outcomes = claims.map((claim) =>
        won.has(claim) ? this.#storeSuccessor(claim) : this.#endGrant(claim),
      );
      await publishSome(
        tx,
        publishAll,
        happeningsOf(claims, (claim) => won.has(claim)),
      );
      return outcomes;
    });
  }

  async findTokenStates(lookups: readonly TokenLookup[]): Promise<TokenState[]> {
    const tokenState = this.#database.prepareRead(sql.tokenState);
    return translated(() =>
      lookups.map(({ agentId, tokenId, grantId }) => {
        const row = tokenState.get(agentId, tokenId, grantId) as unknown as StateRow;
        return { agent: toClient(row), isRevoked: row.is_revoked === 1 };
      }),
    );
  }

  revoke(revocations: readonly Revocation[]): Promise<boolean[]> {
    return this.#database.transaction(async () =>
      revocations.map(({ id, expiresAt }) => this.#run(sql.revoke, id, expiresAt).changes === 1),
    );
  }

  #findClient({ clientId, now }: ClientLookup): Client | null {
    const client = toClient(this.#database.prepareRead(sql.client).get(clientId) as ClientRow | undefined);
    // Asked for an unknown client too, which so costs what a known one costs.
    const rows = this.#database.prepareRead(sql.livingSecrets).all(client?.agentId ?? '', now);
    return client === null
      ? null
      : { ...client, secrets: rows.map((row) => toClientSecret(row as unknown as SecretRow)) };
  }

  /** One update per agent, however many of its tokens the batch holds; returns the agents that exist. */
  #count(
    items: ReadonlyArray<{ agentId: string; now: number; usedSecret?: UsedSecret | null }>,
    each: { tokens: number; refreshes: number },
  ) {
    const perAgent = new Map<string, { count: number; now: number; newestSecretId: number | null }>();
    for (const { agentId, now, usedSecret } of items) {
      const { count = 0, newestSecretId = null } = perAgent.get(agentId) ?? {};
      const used = usedSecret?.isNewest === true ? usedSecret.id : newestSecretId;
      perAgent.set(agentId, { count: count + 1, now, newestSecretId: used });
    }
    const present = new Set<string>();
    for (const [agentId, { count, now, newestSecretId }] of perAgent) {
      const changes = this.#run(
        sql.countTokens,
        count * each.tokens,
        count * each.refreshes,
        now,
        newestSecretId,
        agentId,
      ).changes;
      if (changes === 1) present.add(agentId);
    }
    return present;
  }

  #storeGrant(grant: NewGrant): IssuedGrant {
    if (grant.usedSecret?.isNewest === false) this.#run(sql.touchSecret, grant.now, grant.usedSecret.id);
    const refreshTokenId = grant.refreshToken === null ? null : this.#insert(grant.refreshToken, grant.now);
    return { refreshTokenId };
  }

  #claim(claim: RefreshClaim): boolean {
    return this.#run(sql.claimRefreshToken, claim.now, claim.id).changes === 1;
  }

  #storeSuccessor(claim: RefreshClaim): RefreshOutcome {
    const refreshTokenId = this.#insert(claim.successor, claim.now);
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

async function publishSome(
  tx: Queries,
  publishAll: PublishAll,
  happenings: readonly Happening[],
): Promise<void> {
  if (happenings.length > 0) await publishAll(tx, happenings);
}

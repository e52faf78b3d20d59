import { formatScope } from '../agents/scope.ts';
import type { PostgresDatabase } from '../db/postgres.ts';
import type { Value } from '../db/postgres-connection.ts';
import { columns, runStatement } from '../db/postgres-statement.ts';
import type { Happening } from '../events/outbox.ts';
import {
  CLAIM,
  FIND_CLIENTS,
  FIND_REFRESH_TOKENS,
  FIND_STATES,
  ISSUE,
  REVOKE,
} from './tokens.sql.postgres.ts';
import {
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
} from './tokens.store.ts';

/** One statement and one round trip for each batch, whatever it holds. */
export class PostgresTokensStore implements TokensStore {
  readonly #database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  async findClients(lookups: readonly ClientLookup[]): Promise<(Client | null)[]> {
    const rows = await this.#database.read<ClientRow & { secrets: SecretRow[] }>(FIND_CLIENTS, [
      lookups.map((lookup) => lookup.clientId),
      lookups.map((lookup) => lookup.now),
    ]);
    return rows.map((row) => {
      const client = toClient(row);
      return client === null ? null : { ...client, secrets: row.secrets.map(toClientSecret) };
    });
  }

  async findRefreshTokens(ids: readonly number[]): Promise<(StoredRefreshToken | null)[]> {
    const rows = await this.#database.read<RefreshTokenRow | { id: null }>(FIND_REFRESH_TOKENS, [ids]);
    return rows.map((row) => (row.id === null ? null : toStoredRefreshToken(row)));
  }

  async issue(grants: readonly NewGrant[], publishAll: PublishAll): Promise<(IssuedGrant | null)[]> {
    const rows = await this.#write<NewGrant, { is_present: boolean; refresh_token_id: number | null }>({
      items: grants,
      publishAll,
      statement: ISSUE,
      values: [
        ...columns(grants, [
          (grant) => grant.agentId,
          (grant) => grant.now,
          ({ usedSecret }) => (usedSecret?.isNewest === true ? usedSecret.id : null),
          ({ usedSecret }) => (usedSecret?.isNewest === false ? usedSecret.id : null),
        ]),
        ...tokenColumns(grants.map((grant) => grant.refreshToken)),
      ],
      hasHappened: (row) => row.is_present,
    });
    return rows.map((row) => (row.is_present ? { refreshTokenId: row.refresh_token_id } : null));
  }

  async refresh(claims: readonly RefreshClaim[], publishAll: PublishAll): Promise<RefreshOutcome[]> {
    const rows = await this.#write<RefreshClaim, { refresh_token_id: number | null }>({
      items: claims,
      publishAll,
      statement: CLAIM,
      values: [
        ...columns(claims, [
          (claim) => claim.agentId,
          (claim) => claim.now,
          (claim) => claim.id,
          (claim) => claim.rememberUntil,
        ]),
        ...tokenColumns(claims.map((claim) => claim.successor)),
      ],
      hasHappened: (row) => row.refresh_token_id !== null,
    });
    return rows.map(({ refresh_token_id: refreshTokenId }) =>
      refreshTokenId === null ? { status: 'reused' } : { status: 'refreshed', refreshTokenId },
    );
  }

  async findTokenStates(lookups: readonly TokenLookup[]): Promise<TokenState[]> {
    const rows = await this.#database.read<ClientRow & { revoked_ids: string[] }>(FIND_STATES, [
      lookups.map(({ agentId }) => agentId),
      lookups.flatMap(({ tokenId, grantId }) => [tokenId, grantId]),
    ]);
    const agents = new Map(rows.map((row) => [row.agent_id, toClient(row)]));
    const revoked = new Set(rows[0]?.revoked_ids);
    return lookups.map(({ agentId, tokenId, grantId }) => ({
      agent: agents.get(agentId) ?? null,
      isRevoked: revoked.has(tokenId) || revoked.has(grantId),
    }));
  }

  async revoke(revocations: readonly Revocation[]): Promise<boolean[]> {
    const rows = await this.#database.write<{ id: string }>(
      REVOKE,
      columns(revocations, [({ id }) => id, ({ expiresAt }) => expiresAt]),
    );
    const inserted = new Set(rows.map((row) => row.id));
    // Of two of the same in one batch, the first has done it.
    return revocations.map(({ id }) => inserted.delete(id));
  }

  /** Where there may be something to tell it is told in the same transaction; where not, the statement is its own. */
  async #write<Item extends { happening: Happening | null }, Row>(batch: {
    items: readonly Item[];
    publishAll: PublishAll;
    statement: string;
    values: readonly Value[];
    hasHappened: (row: Row) => boolean;
  }): Promise<Row[]> {
    const { items, statement, values } = batch;
    if (items.every(({ happening }) => happening === null)) return this.#database.write(statement, values);
    return this.#database.readCommitted(async (tx) => {
      const rows = await runStatement<Row>(tx, statement, values);
      const happenings = happeningsOf(items, (_, index) => batch.hasHappened(rows[index] as Row));
      if (happenings.length > 0) await batch.publishAll(tx, happenings);
      return rows;
    });
  }
}

const tokenColumns = (tokens: ReadonlyArray<NewRefreshToken | null>): Value[] =>
  columns(tokens, [
    (token) => token?.clientSecretId ?? null,
    (token) => token?.digest ?? null,
    (token) => token?.grantId ?? null,
    (token) => token?.sequence ?? null,
    (token) => token?.tokenEpoch ?? null,
    (token) => (token === null ? null : formatScope(token.scopes)),
    (token) => token?.expiresAt ?? null,
  ]);

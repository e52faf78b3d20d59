import { formatScope } from '../agents/scope.ts';
import type { Queries } from '../db/database.ts';
import type { PostgresDatabase } from '../db/postgres.ts';
import type { Value } from '../db/postgres-connection.ts';
import { columns, runStatement } from '../db/postgres-statement.ts';
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

  async issue(grants: readonly NewGrant[]): Promise<(IssuedGrant | null)[]> {
    const rows = await this.#write<{ is_present: boolean; refresh_token_id: number | null }>({
      statement: ISSUE,
      values: [
        ...columns(grants, [(grant) => grant.agentId, (grant) => grant.now, (grant) => grant.usedSecretId]),
        ...tokenColumns(grants.map((grant) => grant.refreshToken)),
      ],
      publishOf: (row, index) => (row.is_present ? (grants[index]?.publish ?? null) : null),
      mayPublish: grants.some((grant) => grant.publish !== null),
    });
    return rows.map((row) => (row.is_present ? { refreshTokenId: row.refresh_token_id } : null));
  }

  async refresh(claims: readonly RefreshClaim[]): Promise<RefreshOutcome[]> {
    const rows = await this.#write<{ refresh_token_id: number | null }>({
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
      publishOf: (row, index) => (row.refresh_token_id === null ? null : (claims[index]?.publish ?? null)),
      mayPublish: claims.some((claim) => claim.publish !== null),
    });
    return rows.map(({ refresh_token_id: refreshTokenId }) =>
      refreshTokenId === null ? { status: 'reused' } : { status: 'refreshed', refreshTokenId },
    );
  }

  async findTokenStates(lookups: readonly TokenLookup[]): Promise<TokenState[]> {
    const rows = await this.#database.read<ClientRow & { is_revoked: boolean }>(FIND_STATES, [
      lookups.map((lookup) => lookup.agentId),
      lookups.map((lookup) => lookup.tokenId),
      lookups.map((lookup) => lookup.grantId),
    ]);
    return rows.map((row) => ({ agent: toClient(row), isRevoked: row.is_revoked }));
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

  /** Where there is something to publish it is written in the same transaction; where not, the statement is its own. */
  async #write<Row>(batch: {
    statement: string;
    values: readonly Value[];
    mayPublish: boolean;
    publishOf: (row: Row, index: number) => ((tx: Queries) => Promise<void>) | null;
  }): Promise<Row[]> {
    if (!batch.mayPublish) return this.#database.write<Row>(batch.statement, batch.values);
    return this.#database.readCommitted(async (tx) => {
      const rows = await runStatement<Row>(tx, batch.statement, batch.values);
      for (const [index, row] of rows.entries()) await batch.publishOf(row, index)?.(tx);
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

import { coalesce } from '../db/coalesce.ts';
import type { Queries } from '../db/database.ts';
import type { Happening } from '../events/outbox.ts';
import type { SecretDigest } from '../ids.ts';

/**
 * The store of the token and introspection paths, the only one with its own text for each database. Every operation
 * takes what has arrived, so that a batch costs one commit or one round trip; `tokens.store.sqlite.ts` and
 * `tokens.store.postgres.ts` implement it.
 */
export interface TokensStore {
  findClients(lookups: readonly ClientLookup[]): Promise<readonly (Client | null)[]>;
  findRefreshTokens(ids: readonly number[]): Promise<readonly (StoredRefreshToken | null)[]>;
  /** Counts the tokens and stores the refresh tokens; `null` for an agent that has gone meanwhile. */
  issue(grants: readonly NewGrant[], publishAll: PublishAll): Promise<readonly (IssuedGrant | null)[]>;
  /** Claims refresh tokens, each of which works once, and stores their successors. */
  refresh(claims: readonly RefreshClaim[], publishAll: PublishAll): Promise<readonly RefreshOutcome[]>;
  findTokenStates(lookups: readonly TokenLookup[]): Promise<readonly TokenState[]>;
  /** True for what was not revoked before. */
  revoke(revocations: readonly Revocation[]): Promise<readonly boolean[]>;
}

/** Writes what happened, for those who subscribe to it. */
export type PublishAll = (tx: Queries, happenings: readonly Happening[]) => Promise<void>;

/** The same, one item at a time: what arrives together goes to the store together. */
export interface Tokens {
  findClient(lookup: ClientLookup): Promise<Client | null>;
  findRefreshToken(id: number): Promise<StoredRefreshToken | null>;
  issue(grant: NewGrant): Promise<IssuedGrant | null>;
  refresh(claim: RefreshClaim): Promise<RefreshOutcome>;
  findTokenState(lookup: TokenLookup): Promise<TokenState>;
  revoke(revocation: Revocation): Promise<boolean>;
}

export function coalesceTokens(store: TokensStore, publishAll: PublishAll): Tokens {
  return {
    findClient: coalesce((lookups) => store.findClients(lookups)),
    findRefreshToken: coalesce((ids) => store.findRefreshTokens(ids)),
    issue: coalesce((grants) => store.issue(grants, publishAll)),
    refresh: coalesce((claims) => store.refresh(claims, publishAll)),
    findTokenState: coalesce((lookups) => store.findTokenStates(lookups)),
    revoke: coalesce((revocations) => store.revoke(revocations)),
  };
}

/** An agent as the OAuth endpoints see it. Times are milliseconds since the Unix epoch. */
export interface Client {
  agentId: string;
  clientId: string;
  name: string;
  scopes: readonly string[];
  isActive: boolean;
  expiresAt: number | null;
  tokenEpoch: number;
  organizationId: string | null;
  teamId: string | null;
  /** The organization's lifetime of access tokens. */
  jwtExpirySeconds: number | null;
  /** Those that still work. */
  secrets: readonly ClientSecretRow[];
}

export interface ClientSecretRow {
  id: number;
  digest: SecretDigest;
  /** null for the newest; the others live on for a grace period. */
  expiresAt: number | null;
  /** As far as it was used since it is not the newest any more. */
  lastUsedAt: number | null;
}

export interface ClientLookup {
  clientId: string;
  now: number;
}

/** `isNewest`: when the client authenticated; its use is noted as that of the newest only where it still is. */
export interface UsedSecret {
  id: number;
  isNewest: boolean;
}

export interface NewGrant {
  agentId: string;
  now: number;
  /** The secret that the client used; null where that was noted a moment ago. */
  usedSecret: UsedSecret | null;
  refreshToken: NewRefreshToken | null;
  /** Told in the same transaction; null where nobody subscribes. */
  happening: Happening | null;
}

export interface NewRefreshToken {
  clientSecretId: number;
  digest: SecretDigest;
  grantId: string;
  sequence: number;
  tokenEpoch: number;
  scopes: readonly string[];
  expiresAt: number;
}

export interface IssuedGrant {
  /** The row of the refresh token, which is a part of the token. */
  refreshTokenId: number | null;
}

export interface StoredRefreshToken extends NewRefreshToken {
  id: number;
  issuedAt: number;
  usedAt: number | null;
  /** When the secret that the grant began with ends; null where it lives on. */
  secretExpiresAt: number | null;
  /** null where the agent was deleted. Its `secrets` are empty: nothing is compared with them. */
  client: Client | null;
  isGrantRevoked: boolean;
}

export interface RefreshClaim {
  id: number;
  agentId: string;
  now: number;
  successor: NewRefreshToken;
  /** Until when the grant must be remembered as revoked, should the token prove to be used already. */
  rememberUntil: number;
  happening: Happening | null;
}

/** `reused`: somebody else was first, and the whole grant is revoked now. */
export type RefreshOutcome = { status: 'refreshed'; refreshTokenId: number } | { status: 'reused' };

export interface TokenLookup {
  agentId: string;
  tokenId: string;
  grantId: string;
}

export interface TokenState {
  /** null where the agent was deleted. */
  agent: TokenAgent | null;
  isRevoked: boolean;
}

export type TokenAgent = Omit<Client, 'secrets' | 'jwtExpirySeconds' | 'teamId'>;

/** `id` is an access token's `jti`, or a grant's for all tokens of it. */
export interface Revocation {
  id: string;
  /** When the last token that it concerns has expired, and it may be forgotten. */
  expiresAt: number;
}

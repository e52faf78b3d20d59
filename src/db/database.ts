import type { Generated, Kysely } from 'kysely';

/** 0 or 1: neither database needs a boolean type for it. */
type Flag = 0 | 1;
/** Milliseconds since the Unix epoch. */
type Milliseconds = number;
type AdministratorRole = 'viewer' | 'operator' | 'owner';

/** The tables, the same in every database; `migrations/` makes them. */
export interface Tables {
  service_metadata: { name: string; value: string };
  administrators: {
    id: string;
    email: string;
    password_hash: string;
    role: AdministratorRole;
    organization_id: string | null;
    created_at: Milliseconds;
  };
  administrator_keys: {
    id: string;
    administrator_id: string;
    name: string;
    digest: string;
    prefix: string;
    role: AdministratorRole | null;
    expires_at: Milliseconds | null;
    last_used_at: Milliseconds | null;
    created_at: Milliseconds;
  };
  organizations: {
    id: string;
    name: string;
    slug: string;
    owner_email: string;
    plan: string;
    jwt_expiry_secs: number | null;
    created_at: Milliseconds;
  };
  teams: {
    id: string;
    organization_id: string;
    name: string;
    description: string;
    created_at: Milliseconds;
  };
  agents: {
    id: string;
    client_id: string;
    name: string;
    scopes: string;
    is_active: Flag;
    organization_id: string | null;
    team_id: string | null;
    expires_at: Milliseconds | null;
    token_epoch: number;
    token_count: number;
    refresh_count: number;
    last_activity_at: Milliseconds | null;
    /** When the newest secret was used; of the others `client_secrets` tells. */
    secret_used_at: Milliseconds | null;
    created_at: Milliseconds;
  };
  client_secrets: {
    id: Generated<number>;
    agent_id: string;
    digest: string;
    created_at: Milliseconds;
    expires_at: Milliseconds | null;
    last_used_at: Milliseconds | null;
  };
  secret_rotations: { id: Generated<number>; agent_id: string; rotated_at: Milliseconds };
  refresh_tokens: {
    id: Generated<number>;
    client_secret_id: number;
    digest: string;
    grant_id: string;
    sequence: number;
    token_epoch: number;
    scopes: string;
    issued_at: Milliseconds;
    expires_at: Milliseconds;
    used_at: Milliseconds | null;
  };
  revoked_tokens: { id: string; expires_at: Milliseconds };
  signing_keys: {
    kid: string;
    status: 'next' | 'active' | 'retiring';
    public_jwk: string;
    private_key: string;
    created_at: Milliseconds;
    activated_at: Milliseconds | null;
    retired_at: Milliseconds | null;
    remove_at: Milliseconds | null;
  };
  webhooks: {
    id: string;
    name: string;
    url: string;
    events: string;
    is_active: Flag;
    max_retries: number;
    /** Deliveries that ended dead, in a row. */
    consecutive_fails: number;
    /** Attempts that failed, in a row. */
    failing_attempts: Generated<number>;
    secret: string;
    previous_secret: string | null;
    previous_secret_expires_at: Milliseconds | null;
    last_success_at: Milliseconds | null;
    deactivated_at: Milliseconds | null;
    deleted_at: Milliseconds | null;
    created_at: Milliseconds;
  };
  events: { id: string; type: string; payload: string; created_at: Milliseconds };
  deliveries: {
    id: string;
    webhook_id: string;
    event_id: string;
    event_type: string;
    status: 'pending' | 'retrying' | 'delivered' | 'failed' | 'dead';
    attempts: number;
    max_attempts: number;
    last_attempt_at: Milliseconds | null;
    /** When it is due; a claim puts it off, which is the lease. */
    next_attempt_at: Milliseconds;
    failure_reason: string | null;
    created_at: Milliseconds;
  };
  delivery_attempts: {
    id: Generated<number>;
    delivery_id: string;
    attempt: number;
    started_at: Milliseconds;
    duration_ms: number;
    status_code: number | null;
    error: string | null;
    response_start: string | null;
  };
  audit_entries: {
    /** 1, 2, 3 and so on without a gap. */
    position: number;
    created_at: Milliseconds;
    actor_kind: string;
    actor_id: string | null;
    actor_name: string;
    action: string;
    target_kind: string;
    target_id: string;
    target_name: string;
    organization_id: string | null;
    request_id: string | null;
    address: string | null;
    fields_before: string | null;
    fields_after: string | null;
    previous_hash: string;
    hash: string;
  };
  audit_chain: { name: 'head' | 'anchor'; position: number; hash: string; seal: string };
}

/** Where queries are built and run: a reader, or the handle that a transaction is given. */
export type Queries = Kysely<Tables>;

export interface Database {
  /** Sees what is committed, and nothing else. Never write through it. */
  readonly reader: Queries;
  /**
   * Runs `work` as one transaction and resolves once its commit is durable. Nothing in it may wait for anything but
   * `tx`: others queue behind it. A rejection rolls this transaction back, and it alone.
   *
   * `work` may run more than once, where the database rolled it back because of another transaction: it keeps what it
   * changes to `tx` and to what it answers.
   */
  transaction<T>(work: (tx: Queries) => Promise<T>): Promise<T>;
  /**
   * The same for work that writes the audit log, where each entry follows on another one: such transactions take turns
   * from their beginning, on all processes together, instead of throwing each other out at their end.
   */
  audited<T>(work: (tx: Queries) => Promise<T>): Promise<T>;
  /**
   * The same for work that needs no picture of its own of what others do meanwhile, since each of its statements is
   * right by itself: claims, settlements, batches. It never waits for others in vain. Where transactions take turns
   * anyway there is no difference.
   */
  readCommitted<T>(work: (tx: Queries) => Promise<T>): Promise<T>;
  /** Rejects where the database does not answer, or takes no writes. */
  ping(): Promise<void>;
  /** Told of every error that a request has met: damage that a read finds is shown by `ping` from then on. */
  report(error: unknown): void;
  close(): Promise<void>;
}

export interface Commit {
  /** How many transactions shared it. */
  transactions: number;
  seconds: number;
  /** What their queries ran on; null for a statement that was committed by itself. */
  tx: Queries | null;
}

/** Called after every commit. */
export type CommitObserver = (commit: Commit) => void;

/** A write met a value that is already taken. */
export class UniqueViolation extends Error {}

/** Told when the database is away or begins to refuse writes, and with null when it is back. */
export type OutageObserver = (cause: DatabaseUnavailable | null) => void;

export interface Observers {
  onCommit?: CommitObserver | undefined;
  onOutage?: OutageObserver | undefined;
}

/** The database is away, full or cannot be written: the same request may succeed later. */
export class DatabaseUnavailable extends Error {}

/** Another program writes at this moment. */
export class DatabaseBusy extends DatabaseUnavailable {}

/** What the file holds contradicts itself. It does not pass; its message says what to do. */
export class DatabaseDamaged extends DatabaseUnavailable {}

/** What readiness answers while the database takes no writes; the message is for everybody. */
export class WritesRefused extends DatabaseUnavailable {}

/** The database cannot be used at all; the message says what to do. Stops the start. */
export class DatabaseUnusable extends Error {}

export const toFlag = (value: boolean): Flag => (value ? 1 : 0);

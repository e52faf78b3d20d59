import { DatabaseUnavailable, UniqueViolation } from './database.ts';

/** There was no connection to be had: nothing was sent, and asking again at once would only wait again. */
export class NoConnection extends DatabaseUnavailable {}

/** The connection broke while the commit was under way: nobody can say whether it stands. */
export class CommitUnknown extends DatabaseUnavailable {}

/** What PostgreSQL or the way to it says, made the errors of `database.ts`; anything else stays what it is. */
export function translate(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (codeOf(error) === UNIQUE_VIOLATION) return new UniqueViolation(error.message, { cause: error });
  return isUnavailable(error) ? new DatabaseUnavailable(error.message, { cause: error }) : error;
}

/** The transaction met another one and was rolled back; the same again may succeed. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(codeOf(originalOf(error)));
}

/** The connection is no more: whatever it had not committed is rolled back. */
export function isConnectionLost(error: unknown): boolean {
  const original = originalOf(error);
  const code = codeOf(original);
  if (code.startsWith('08') || SHUTDOWNS.has(code) || BROKEN_SOCKETS.has(code)) return true;
  if (isStalePlan(original)) return true;
  return original instanceof Error && LOST.test(original.message);
}

/** No answer in time: the server, or the way to it, has fallen silent. Or a pooler on the way says that it has. */
export const isSilence = (error: unknown): boolean => {
  const original = originalOf(error);
  return original instanceof Error && (SILENCE.test(original.message) || codeOf(original) === OF_POOLER);
};

/** No connection can be made at all; not so where all of them are in use, here or at the server. */
export const isUnreachable = (error: unknown): boolean =>
  UNREACHABLE.has(codeOf(error)) || isConnectionLost(error) || isSilence(error);

/** The connection is of no use any more, also where it stands: after a failover it may lead to a replica. */
export const isUseless = (error: unknown): boolean => isConnectionLost(error) || isOfReplica(error);

const isOfReplica = (error: unknown): boolean =>
  codeOf(error) === READ_ONLY || isUnsupported(error, OF_REPLICA);

/** A table has another form than when the statement got its name, as after a migration: a new connection knows it. */
const isStalePlan = (error: unknown): boolean => isUnsupported(error, STALE_PLAN);

/** A code that says too little: the server has words, and the name of the routine that says them. */
function isUnsupported(error: unknown, sign: RegExp): boolean {
  if (!(error instanceof Error) || codeOf(error) !== FEATURE_NOT_SUPPORTED) return false;
  return sign.test(`${error.message} ${'routine' in error ? error.routine : ''}`);
}

export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}

const originalOf = (error: unknown): unknown => (error instanceof DatabaseUnavailable ? error.cause : error);

const UNIQUE_VIOLATION = '23505';
/** serialization_failure and deadlock_detected. */
const CONFLICTS = new Set(['40001', '40P01']);
/** admin_shutdown, crash_shutdown, cannot_connect_now, idle_session_timeout, idle_in_transaction_session_timeout. */
const SHUTDOWNS = new Set(['57P01', '57P02', '57P03', '57P05', '25P03']);
const READ_ONLY = '25006';
const FEATURE_NOT_SUPPORTED = '0A000';
/** What a replica says to a serializable transaction. */
const OF_REPLICA = /hot standby/i;
const STALE_PLAN = /RevalidateCachedQuery|cached plan/;
/** query_canceled (statement_timeout) and lock_not_available. */
const TRANSIENT = new Set([READ_ONLY, '57014', '55P03']);
/** Out of disk, memory or connections. */
const INSUFFICIENT_RESOURCES = '53';
const BROKEN_SOCKETS = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED']);
const UNREACHABLE = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN']);
/** protocol_violation: how PgBouncer says that it reaches no server, or had none free in time. */
const OF_POOLER = '08P01';
/** What `pg` says without a code. */
const SILENCE = /^Query read timeout|^timeout expired/;
const LOST =
  /^Connection terminated|^Client has encountered a connection error|^Query read timeout|not queryable/;
const NO_CONNECTION =
  /^timeout exceeded when trying to connect|^timeout expired|after calling end on the pool/;

export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (
    code.startsWith(INSUFFICIENT_RESOURCES) ||
    isOfReplica(error) ||
    TRANSIENT.has(code) ||
    CONFLICTS.has(code)
  )
    return true;
  return UNREACHABLE.has(code) || isConnectionLost(error) || NO_CONNECTION.test(error.message);
}

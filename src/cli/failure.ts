import { CommanderError } from 'commander';
import { ConfigError } from '../config.ts';
import { CopyRefused } from '../db/copy-refused.ts';
import { DatabaseDamaged, DatabaseUnavailable, DatabaseUnusable } from '../db/database.ts';
import { ServiceError } from '../errors.ts';

/** The exit codes of every command. */
export const exitCodes = {
  0: 'done',
  1: 'failed: a sentence on standard error says why',
  2: 'wrong usage: an unknown command or option, a missing or malformed argument',
} as const;

/** What `error` can be where a command fails with `--json`. */
export const failureCodes = {
  invalid_usage: 'The command line is wrong (exit code 2).',
  invalid_configuration: 'Settings have problems, or an unknown name.',
  no_database: 'There is no database yet where the configuration says.',
  database_unusable: 'The database cannot be opened or copied, or was made by a newer version.',
  temporarily_unavailable: 'The database is busy, away or full. Try again.',
  migrations_pending:
    'The tables are not those of this version. With `migrate --check`, `pending` names what is missing.',
  invalid_request:
    'The password is too short or too long, the two entries differ, or there is no such organization.',
  not_found: 'There is no such administrator.',
  conflict:
    'The address is taken, the file exists, the administrator is the last owner, or the target of a copy is not empty.',
  audit_log_broken: 'The audit log is not what was written; `position` is the first entry that does not fit.',
  unsupported: 'The command does not work with this kind of database.',
  failed: 'Anything else.',
} as const;

export type FailureCode = keyof typeof failureCodes;

/** A command could not do what it was asked to; the message is a whole sentence for people. */
export class CommandFailure extends Error {
  readonly code: FailureCode;
  /** Further members of the document that `--json` prints. */
  readonly details: object;

  constructor(code: FailureCode, message: string, details: object = {}) {
    super(message);
    this.name = 'CommandFailure';
    this.code = code;
    this.details = details;
  }
}

export interface Failure {
  code: string;
  exitCode: number;
  description: string;
  details: object;
}

export function toFailure(error: unknown): Failure {
  const code = codeOf(error);
  return {
    code,
    exitCode: code === 'invalid_usage' ? 2 : 1,
    description: describe(error),
    details: error instanceof CommandFailure ? error.details : {},
  };
}

/** It names its code itself, and has a sentence for people. */
const isTold = (error: unknown): error is CommandFailure | ServiceError | CopyRefused =>
  error instanceof CommandFailure || error instanceof ServiceError || error instanceof CopyRefused;

function codeOf(error: unknown): string {
  if (isTold(error)) return error.code;
  if (error instanceof CommanderError) return 'invalid_usage';
  if (error instanceof ConfigError) return 'invalid_configuration';
  if (error instanceof DatabaseUnusable) return 'database_unusable';
  if (error instanceof DatabaseUnavailable) return 'temporarily_unavailable';
  return 'failed';
}

function describe(error: unknown): string {
  if (error instanceof CommanderError) return explainUsage(error);
  if (error instanceof ConfigError)
    return `The configuration has problems:\n  ${error.problems.join('\n  ')}`;
  if (error instanceof DatabaseDamaged) return error.message;
  if (error instanceof DatabaseUnavailable)
    return 'The database is busy, away or full. Try again in a moment.';
  return isTold(error) || error instanceof DatabaseUnusable ? error.message : explainAccident(error);
}

function explainUsage({ message }: CommanderError): string {
  // What was typed is repeated in it, and there may be a URL with a password among that.
  const text = message.replace(/^error: /, '').replace(/:\/\/\S*@/g, '://***@');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}\nSee what there is with --help.`;
}

function explainAccident(error: unknown): string {
  const { code, message } =
    error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error) };
  if (code === 'EADDRINUSE') return 'The port is in use. Stop what listens there, or set SIGNET_PORT.';
  if (code === 'EADDRNOTAVAIL') return 'SIGNET_HOST is not an address of this machine.';
  if (code === 'EACCES') return `Permission denied: ${message}`;
  return `Signet cannot go on: ${message}`;
}

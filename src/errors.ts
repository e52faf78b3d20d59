/**
 * The one table of errors. Each failure of each path is `{error, error_description}` with one of these codes;
 * `docs/errors.md` is made from it.
 */
export const errorCatalogue = {
  invalid_request: {
    status: 400,
    when: 'The request is malformed: a field is missing, repeated, of the wrong type or out of range.',
    fix: 'Correct the field that the description names.',
    source: 'RFC 6749 §5.2',
  },
  invalid_grant: {
    status: 400,
    when: 'The refresh token is unknown, expired, revoked, already used, or was issued to another client; or a token to be revoked was.',
    fix: 'Get new tokens with the client credentials grant.',
    source: 'RFC 6749 §5.2',
  },
  invalid_scope: {
    status: 400,
    when: 'The requested scope is malformed, unknown, or beyond what the agent (or the refresh token) holds.',
    fix: 'Ask for scopes that the agent holds, or leave `scope` out to get all of them.',
    source: 'RFC 6749 §5.2',
  },
  unsupported_grant_type: {
    status: 400,
    when: 'The grant type is not one that the endpoint supports.',
    fix: 'Use `client_credentials` or `refresh_token`.',
    source: 'RFC 6749 §5.2',
  },
  invalid_client: {
    status: 401,
    when: 'The client is unknown, its secret is wrong or has ended, or the agent is deactivated or expired.',
    fix: 'Check `client_id` and `client_secret`; ask an administrator whether the agent is active.',
    source: 'RFC 6749 §5.2',
  },
  unauthorized: {
    status: 401,
    when: 'An administrator path was called without an administrator’s password or API key, or with a wrong one.',
    fix: 'Send the e-mail address and the password by HTTP Basic authentication, or an API key as a Bearer token.',
    source: 'RFC 7617',
  },
  invalid_token: {
    status: 401,
    when: 'An agent path was called without a valid access token.',
    fix: 'Get a new access token and send it as `Authorization: Bearer <token>`.',
    source: 'RFC 6750 §3.1',
  },
  insufficient_scope: {
    status: 403,
    when: 'The access token does not hold every scope of the agent, and the call would change the agent.',
    fix: 'Get a token without naming a `scope`, which grants all scopes of the agent.',
    source: 'RFC 6750 §3.1',
  },
  insufficient_role: {
    status: 403,
    when: 'The administrator, or the API key, has a role that may not do this, or is bound to one organization.',
    fix: 'Ask an owner; docs/administrators.md says what each role may do.',
    source: 'RFC 9110 §15.5.4',
  },
  not_found: {
    status: 404,
    when: 'The path or the resource does not exist.',
    fix: 'Check the path and the identifier.',
    source: 'RFC 9110 §15.5.5',
  },
  method_not_allowed: {
    status: 405,
    when: 'The path exists, but not for this method.',
    fix: 'Use one of the methods in the `Allow` header.',
    source: 'RFC 9110 §15.5.6',
  },
  request_timeout: {
    status: 408,
    when: 'The header or the body of the request took too long to arrive.',
    fix: 'Send the request at once, on a new connection.',
    source: 'RFC 9110 §15.5.9',
  },
  conflict: {
    status: 409,
    when: 'The request contradicts what is stored, for example a slug that is taken.',
    fix: 'Read the resource again and choose another value.',
    source: 'RFC 9110 §15.5.10',
  },
  payload_too_large: {
    status: 413,
    when: 'The request body is larger than 64 KiB.',
    fix: 'Send a smaller body.',
    source: 'RFC 9110 §15.5.14',
  },
  unsupported_media_type: {
    status: 415,
    when: 'The body is of a content type that the path does not read.',
    fix: 'Send `application/json`; under `/oauth`, `application/x-www-form-urlencoded` is read too.',
    source: 'RFC 9110 §15.5.16',
  },
  rate_limited: {
    status: 429,
    when: 'The agent asked for more tokens in a minute than SIGNET_TOKEN_RATE allows.',
    fix: 'Use a token until it expires; ask again after the seconds in the `Retry-After` header.',
    source: 'RFC 6585 §4',
  },
  too_many_attempts: {
    status: 429,
    when: 'Too many wrong administrator passwords came from this address.',
    fix: 'Wait for the seconds in the `Retry-After` header; another address need not wait.',
    source: 'RFC 6585 §4',
  },
  server_error: {
    status: 500,
    when: 'Something went wrong inside the service.',
    fix: 'Try again; quote the `x-request-id` header to the operator, whose log has the cause.',
    source: 'RFC 6749 §4.1.2.1',
  },
  temporarily_unavailable: {
    status: 503,
    when: 'The database is away or full, or the service is stopping or has more work than it can hold.',
    fix: 'Try again after the seconds in the `Retry-After` header.',
    source: 'RFC 6749 §4.1.2.1',
  },
} as const;

export type ErrorCode = keyof typeof errorCatalogue;

/** An error that a caller may see: its code decides the status, its message is a whole sentence for them. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, description: string, options: ServiceErrorOptions = {}) {
    super(description, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return errorCatalogue[this.code].status;
  }
}

interface ServiceErrorOptions {
  headers?: Record<string, string>;
  cause?: unknown;
}

export const invalidRequest = (description: string): ServiceError =>
  new ServiceError('invalid_request', description);

export const invalidGrant = (): ServiceError =>
  new ServiceError(
    'invalid_grant',
    'The refresh token is unknown, expired, revoked or already used. Get new tokens with the client credentials grant.',
  );

/** RFC 7009 §2.1: a client revokes its own tokens alone. */
export const foreignToken = (): ServiceError =>
  new ServiceError('invalid_grant', 'The token was issued to another client, which alone can revoke it.');

export const invalidScope = (description: string): ServiceError =>
  new ServiceError('invalid_scope', description);

export const unsupportedGrantType = (supported: string): ServiceError =>
  new ServiceError('unsupported_grant_type', `The grant type is not supported here. Use ${supported}.`);

/** RFC 6749 §5.2: where the client tried HTTP authentication, the answer names the scheme. */
export const invalidClient = (usedBasic: boolean): ServiceError =>
  new ServiceError(
    'invalid_client',
    'The client is unknown, its secret is wrong, or the agent is not active.',
    {
      headers: usedBasic ? { 'www-authenticate': 'Basic realm="signet", charset="UTF-8"' } : {},
    },
  );

export const unauthorized = (): ServiceError =>
  new ServiceError(
    'unauthorized',
    'Send an administrator’s e-mail address and password by HTTP Basic authentication, or an API key as a Bearer token.',
    { headers: { 'www-authenticate': 'Basic realm="signet", charset="UTF-8"' } },
  );

/** RFC 6750 §3.1: a request without any token learns the scheme alone. */
export const missingToken = (): ServiceError =>
  new ServiceError('invalid_token', 'Send an access token as "Authorization: Bearer <token>".', {
    headers: { 'www-authenticate': 'Bearer realm="signet"' },
  });

export const invalidToken = (description: string): ServiceError =>
  new ServiceError('invalid_token', description, {
    headers: {
      'www-authenticate': `Bearer realm="signet", error="invalid_token", error_description="${description}"`,
    },
  });

export const insufficientScope = (scopes: readonly string[]): ServiceError =>
  new ServiceError(
    'insufficient_scope',
    `This call changes the agent and needs a token with all of its scopes: ${scopes.join(' ')}.`,
    {
      headers: {
        'www-authenticate': `Bearer realm="signet", error="insufficient_scope", scope="${scopes.join(' ')}"`,
      },
    },
  );

export const insufficientRole = (description: string): ServiceError =>
  new ServiceError('insufficient_role', description);

export const tooManyAttempts = (waitSeconds: number): ServiceError =>
  new ServiceError(
    'too_many_attempts',
    `Too many wrong passwords came from this address. Try again in ${waitSeconds} seconds.`,
    { headers: { 'retry-after': String(waitSeconds) } },
  );

export const notFound = (what: string): ServiceError =>
  new ServiceError('not_found', `No such ${what}. Check the identifier.`);

export const pathNotFound = (): ServiceError =>
  new ServiceError('not_found', 'No such path. The paths of this service are listed at /openapi.json.');

export const methodNotAllowed = (allowed: readonly string[]): ServiceError =>
  new ServiceError('method_not_allowed', `This path allows ${allowed.join(', ')}.`, {
    headers: { allow: allowed.join(', ') },
  });

export const conflict = (description: string): ServiceError => new ServiceError('conflict', description);

export const payloadTooLarge = (): ServiceError =>
  new ServiceError('payload_too_large', 'The request body is larger than 64 KiB. Send a smaller one.');

/** Where a header or a body never ends. */
export const requestTimeout = (): ServiceError =>
  new ServiceError('request_timeout', 'The request took too long to arrive. Send it at once.');

export const rateLimited = (seconds: number): ServiceError =>
  new ServiceError(
    'rate_limited',
    'This agent has asked for too many tokens. Use the one that it has until it expires.',
    { headers: { 'retry-after': String(seconds) } },
  );

export const unsupportedMediaType = (supported: readonly string[]): ServiceError =>
  new ServiceError('unsupported_media_type', `Send the body as ${supported.join(' or ')}.`);

export const temporarilyUnavailable = (
  cause?: unknown,
  description = 'The service cannot do this right now. Try again in a moment.',
): ServiceError =>
  new ServiceError('temporarily_unavailable', description, {
    headers: { 'retry-after': '1' },
    cause,
  });

export const serverError = (cause?: unknown): ServiceError =>
  new ServiceError('server_error', 'Something went wrong inside the service.', { cause });

/** What the log says of an accident: what happened and its causes, never where in the code. */
export function toLogEntry(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, cause } = error;
  const code = 'code' in error ? { code: error.code } : {};
  return { type: name, message, ...code, ...(cause !== undefined && { cause: toLogEntry(cause) }) };
}

/** For the default branch of a switch over a union: a new member does not compile until it is handled. */
export function unreachable(value: never): never {
  throw new Error(`Unreachable: ${String(value)}`);
}

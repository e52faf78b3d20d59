import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { DatabaseUnavailable } from '../db/database.ts';
import type { OutageWatch } from '../db/outage-watch.ts';
import {
  invalidRequest,
  payloadTooLarge,
  ServiceError,
  serverError,
  temporarilyUnavailable,
  toLogEntry,
  unsupportedMediaType,
} from '../errors.ts';
import { describeValidation } from './validation.ts';

declare module 'fastify' {
  interface FastifyInstance {
    outages: OutageWatch;
  }
}

/** Every error of every path becomes `{error, error_description}` here; what is not for callers goes to the log. */
export function errorHandler(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const known = toServiceError(error, request);
  if (known.status >= 500) {
    const level = request.server.outages.levelOf(known);
    request.log[level]({ cause: toLogEntry(known.cause ?? known) }, 'request failed');
  }
  return reply
    .code(known.status)
    .headers({ ...hardeningHeaders(request), ...known.headers })
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send({ error: known.code, error_description: known.message });
}

/** What every answer carries. Set again here for the errors that come before any hook. */
export const hardeningHeaders = (request: FastifyRequest): Record<string, string> => ({
  'x-request-id': request.id,
  'x-content-type-options': 'nosniff',
  // Answers are data: should a browser ever show one as a page, it runs and loads nothing. `/docs` has its own policy.
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
});

function toServiceError(error: FastifyError, request: FastifyRequest): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof DatabaseUnavailable) return temporarilyUnavailable(error);
  if (error.validation !== undefined) return invalidRequest(describeValidation(error.validation));
  return fromFramework(error, request);
}

function fromFramework(error: FastifyError, request: FastifyRequest): ServiceError {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return payloadTooLarge();
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupportedMediaType(readableTypes(request));
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalidRequest('The Content-Length header does not fit the body.');
    default:
      return (error.statusCode ?? 500) < 500
        ? invalidRequest('The request is malformed. Check its URL, headers and body.')
        : serverError(error);
  }
}

function readableTypes(request: FastifyRequest): string[] {
  const isOAuth = request.url.startsWith('/oauth/');
  return isOAuth ? ['application/json', 'application/x-www-form-urlencoded'] : ['application/json'];
}

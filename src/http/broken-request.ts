import type { Socket } from 'node:net';
import { invalidRequest, requestTimeout, type ServiceError } from '../errors.ts';

const problems: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The header of the request is larger than 16 KiB.',
};

// Not from `node:http`: a module that imports that by name loads all of its client for fetch and WebSocket too.
const reasons: Record<number, string> = { 400: 'Bad Request', 408: 'Request Timeout' };

/** What the HTTP parser refuses never becomes a request, so it is answered on the socket itself. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(toHttp(toServiceError(error.code ?? '')));
}

const toServiceError = (code: string): ServiceError =>
  code === 'ERR_HTTP_REQUEST_TIMEOUT'
    ? requestTimeout()
    : invalidRequest(problems[code] ?? 'The request is not valid HTTP.');

function toHttp(error: ServiceError): string {
  const body = JSON.stringify({ error: error.code, error_description: error.message });
  return [
    `HTTP/1.1 ${error.status} ${reasons[error.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}

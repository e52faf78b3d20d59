import type { Socket } from 'node:net';
import { invalidRequest, type ServiceError } from '../errors.ts';

const problems: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The header of the request is larger than 16 KiB.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took longer than 30 seconds to arrive.',
};

/** What the HTTP parser refuses never becomes a request, so it is answered on the socket itself. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const answer = invalidRequest(problems[error.code ?? ''] ?? 'The request is not valid HTTP.');
  socket.end(toHttp(answer));
}

function toHttp(error: ServiceError): string {
  const body = JSON.stringify({ error: error.code, error_description: error.message });
  return [
    `HTTP/1.1 ${error.status} Bad Request`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}

import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { type Administrators, isApiKey } from '../admin/administrators.ts';
import { API_KEY_PREFIX } from '../admin/api-key.ts';
import type { Caller } from '../admin/caller.ts';
import { parseBasicCredentials } from '../basic-credentials.ts';
import { unauthorized } from '../errors.ts';

const BEARER_KEY = new RegExp(`^bearer +(${API_KEY_PREFIX}\\S+) *$`, 'i');

/** HTTP Basic with an administrator's e-mail address and password or API key; or the key alone as a Bearer token. */
export function adminAuth(administrators: Administrators): onRequestAsyncHookHandler {
  return async (request) => {
    request.administrator = await recognize(administrators, request);
    if (request.administrator === null) throw unauthorized();
  };
}

async function recognize(administrators: Administrators, request: FastifyRequest): Promise<Caller | null> {
  const { authorization = '' } = request.headers;
  const address = request.ip;
  const secret = BEARER_KEY.exec(authorization)?.[1];
  if (secret !== undefined) return administrators.authenticateKey({ secret, email: null, address });
  const credentials = parseBasicCredentials(authorization);
  if (credentials === null) return null;
  const { userId: email, password } = credentials;
  return isApiKey(password)
    ? administrators.authenticateKey({ secret: password, email, address })
    : administrators.authenticate({ email, password, address });
}

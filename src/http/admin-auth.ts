import type { onRequestAsyncHookHandler } from 'fastify';
import type { Administrators } from '../admin/administrators.ts';
import { parseBasicCredentials } from '../basic-credentials.ts';
import { unauthorized } from '../errors.ts';

/** HTTP Basic with an administrator's e-mail address and password. */
export function adminAuth(administrators: Administrators): onRequestAsyncHookHandler {
  return async (request) => {
    const credentials = parseBasicCredentials(request.headers.authorization ?? '');
    if (credentials === null) throw unauthorized();
    const administrator = await administrators.authenticate(credentials.userId, credentials.password);
    if (administrator === null) throw unauthorized();
    request.administrator = administrator;
  };
}

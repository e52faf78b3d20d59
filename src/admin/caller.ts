import type { FastifyRequest } from 'fastify';
import { unauthorized } from '../errors.ts';
import type { Role } from './administrator.ts';
import type { ApiKey } from './api-key.ts';

/** The administrator of a request, with what this request may do. */
export interface Caller {
  id: string;
  email: string;
  /** The lower of the administrator's role and that of the key. */
  role: Role;
  organizationId: string | null;
  /** The API key that was sent; null where it was the password. */
  key: ApiKey | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; set on administrator paths before any handler runs. */
    administrator: Caller | null;
  }
}

export function callerOf({ administrator }: Pick<FastifyRequest, 'administrator'>): Caller {
  if (administrator === null) throw unauthorized();
  return administrator;
}

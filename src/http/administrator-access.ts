import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isAtLeast, type Role } from '../admin/administrator.ts';
import { callerOf } from '../admin/caller.ts';
import { findAgent } from '../agents/agents.store.ts';
import type { Database } from '../db/database.ts';
import { insufficientRole, notFound } from '../errors.ts';

/** What the caller of a route needs. */
export interface Access {
  /** The least role. */
  needs: Role;
  /**
   * What the route is about, which decides what it is for somebody who is bound to one organization:
   * `service`, nothing; `organization` and `agent`, something that does not exist, unless the identifier in the path is
   * of theirs; `list`, as much of it as is theirs, which the handler sees to; `caller`, the same as for everybody.
   */
  about: 'service' | 'organization' | 'agent' | 'list' | 'caller';
  /** False where even their own is not for those who are bound. */
  isForBound?: false;
  /** The members of the body that those who are bound may send; all where it is absent. */
  boundMaySend?: readonly string[];
  /** A key does not do this, so that one that leaked can neither breed nor lock its owner out. */
  needsPassword?: true;
}

/** The one table of what administrators may do. A route without a line here stops the start. */
export const administratorAccess: Readonly<Record<string, Access>> = {
  'GET /api/agents': { needs: 'viewer', about: 'list' },
  'POST /api/agents': { needs: 'operator', about: 'list' },
  'GET /api/agents/:id': { needs: 'viewer', about: 'agent' },
  'PUT /api/agents/:id': { needs: 'operator', about: 'agent' },
  'POST /api/agents/:id': { needs: 'operator', about: 'agent' },
  'DELETE /api/agents/:id': { needs: 'operator', about: 'agent' },

  'GET /api/organizations': { needs: 'viewer', about: 'list' },
  'POST /api/organizations': { needs: 'operator', about: 'service' },
  'GET /api/organizations/:id': { needs: 'viewer', about: 'organization' },
  'PUT /api/organizations/:id': { needs: 'operator', about: 'organization', boundMaySend: ['name'] },
  'DELETE /api/organizations/:id': { needs: 'operator', about: 'organization', isForBound: false },
  'GET /api/organizations/:org_id/agents': { needs: 'viewer', about: 'organization' },
  'POST /api/organizations/:org_id/agents': { needs: 'operator', about: 'organization' },
  'GET /api/organizations/:org_id/teams': { needs: 'viewer', about: 'organization' },
  'POST /api/organizations/:org_id/teams': { needs: 'operator', about: 'organization' },
  'GET /api/organizations/:org_id/teams/:team_id': { needs: 'viewer', about: 'organization' },
  'PUT /api/organizations/:org_id/teams/:team_id': { needs: 'operator', about: 'organization' },
  'DELETE /api/organizations/:org_id/teams/:team_id': { needs: 'operator', about: 'organization' },

  'GET /api/webhooks': { needs: 'viewer', about: 'service' },
  'POST /api/webhooks': { needs: 'operator', about: 'service' },
  'GET /api/webhooks/:id': { needs: 'viewer', about: 'service' },
  'PUT /api/webhooks/:id': { needs: 'operator', about: 'service' },
  'DELETE /api/webhooks/:id': { needs: 'operator', about: 'service' },
  'POST /api/webhooks/:id/rotate-secret': { needs: 'operator', about: 'service' },
  'POST /api/webhooks/:id/test': { needs: 'operator', about: 'service' },
  'GET /api/webhooks/:id/deliveries': { needs: 'viewer', about: 'service' },
  'GET /api/webhooks/:id/deliveries/:delivery_id': { needs: 'viewer', about: 'service' },
  'POST /api/webhooks/:id/deliveries/:delivery_id/redeliver': { needs: 'operator', about: 'service' },
  'GET /api/webhook-events': { needs: 'viewer', about: 'service' },

  'GET /api/keys': { needs: 'viewer', about: 'service' },
  'POST /api/keys/rotate': { needs: 'owner', about: 'service' },

  'GET /api/audit-log': { needs: 'viewer', about: 'service' },

  'GET /api/administrators': { needs: 'owner', about: 'service' },
  'POST /api/administrators': { needs: 'owner', about: 'service' },
  'GET /api/administrators/:id': { needs: 'owner', about: 'service' },
  'PUT /api/administrators/:id': { needs: 'owner', about: 'service' },
  'DELETE /api/administrators/:id': { needs: 'owner', about: 'service' },
  'GET /api/administrators/:id/keys': { needs: 'owner', about: 'service' },
  'DELETE /api/administrators/:id/keys/:key_id': { needs: 'owner', about: 'service' },

  'GET /api/administrators/me': { needs: 'viewer', about: 'caller' },
  'PUT /api/administrators/me': { needs: 'viewer', about: 'caller', needsPassword: true },
  'GET /api/administrators/me/keys': { needs: 'viewer', about: 'caller' },
  'POST /api/administrators/me/keys': { needs: 'viewer', about: 'caller', needsPassword: true },
  'DELETE /api/administrators/me/keys/:key_id': { needs: 'viewer', about: 'caller', needsPassword: true },
};

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
}

/** Holds every route that is registered in this scope from now on to its line of the table. */
export function watchAccess(app: FastifyInstance, deps: { database: Database }): void {
  const unused = new Set(Object.keys(administratorAccess));
  app.addHook('onRoute', (route) => {
    const name = `${route.method === 'HEAD' ? 'GET' : route.method} ${route.url}`;
    const access = administratorAccess[name];
    if (access === undefined)
      throw new Error(`${name} has no line in the table of what administrators may do.`);
    unused.delete(name);
    route.config = { ...route.config, access };
  });
  app.addHook('onReady', async () => {
    if (unused.size > 0) throw new Error(`There is no such administrator route: ${[...unused].join(', ')}.`);
  });
  app.addHook('onRequest', (request) => refuseBeyond(deps, request));
  app.addHook('preHandler', async (request) => refuseMembers(request));
}

async function refuseBeyond(deps: { database: Database }, request: FastifyRequest): Promise<void> {
  const caller = callerOf(request);
  const access = accessOf(request);
  if (!isAtLeast(caller.role, access.needs))
    throw insufficientRole(`This needs the role ${access.needs}; yours is ${caller.role}.`);
  if (access.needsPassword === true && caller.key !== null)
    throw insufficientRole('This needs your password; an API key may not do it.');
  if (caller.organizationId !== null) await refuseForeign(deps, request, caller.organizationId);
}

/** What is of another organization is refused in the words that are used where it is not there at all. */
async function refuseForeign(
  { database }: { database: Database },
  request: FastifyRequest,
  organizationId: string,
): Promise<void> {
  const { about, isForBound } = accessOf(request);
  const { id = '', org_id } = request.params as Record<string, string>;
  if (about === 'organization' && (org_id ?? id) !== organizationId) throw notFound('organization');
  if (about === 'agent' && (await findAgent(database.reader, id))?.organizationId !== organizationId)
    throw notFound('agent');
  if (about === 'service' || isForBound === false)
    throw insufficientRole('This concerns the whole service, and you are bound to one organization.');
}

function refuseMembers(request: FastifyRequest): void {
  const { boundMaySend } = accessOf(request);
  if (boundMaySend === undefined || callerOf(request).organizationId === null) return;
  for (const name of Object.keys(request.body ?? {})) {
    if (!boundMaySend.includes(name))
      throw insufficientRole(`${name}: those who are bound to the organization may not change it.`);
  }
}

function accessOf(request: FastifyRequest): Access {
  const { access } = request.routeOptions.config;
  if (access === undefined) throw new Error(`${request.method} ${request.url} is not watched.`);
  return access;
}

/** For the documentation of a route; empty for those that are not for administrators. */
export function describeAccess(method: string, url: string): string {
  const access = administratorAccess[`${method.toUpperCase()} ${url}`];
  if (access === undefined) return '';
  const bound = access.about === 'service' || access.isForBound === false ? ', bound to no organization' : '';
  const password = access.needsPassword === true ? ' The password is needed, an API key will not do.' : '';
  return `Needs the role \`${access.needs}\`${bound}.${password}`;
}

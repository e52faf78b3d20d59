import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { actorOf } from '../audit/actor.ts';
import { invalidRequest } from '../errors.ts';
import { requireOrganization } from '../organizations/organizations.service.ts';
import { ADMIN_ERRORS, BODY_ERRORS, errorResponses, idParam } from '../schema.ts';
import { type AgentsRoutesDeps, create, list } from './agents.routes.ts';
import { AgentCreated, AgentList, AgentListQuery, agentBodies } from './agents.schema.ts';

const tags = ['agents'];
const security = [{ administrator: [] }];
const OrganizationParams = Type.Object({ org_id: idParam('org') });

/** The agents of one organization. */
export const organizationAgentsRoutes: FastifyPluginAsyncTypebox<AgentsRoutesDeps> = async (app, deps) => {
  const { database } = deps;
  const { CreateAgent } = agentBodies(deps.scopes);

  app.post(
    '/api/organizations/:org_id/agents',
    {
      schema: {
        tags,
        security,
        summary: 'Create an agent in an organization',
        params: OrganizationParams,
        body: CreateAgent,
        response: { 201: AgentCreated, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found') },
      },
    },
    async (request, reply) => {
      const { params, body } = request;
      await requireOrganization(database.reader, params.org_id);
      requireSameOrganization(params.org_id, body.organization_id);
      const input = { ...body, organization_id: params.org_id };
      return reply.code(201).send(await create(deps, input, actorOf(request)));
    },
  );

  app.get(
    '/api/organizations/:org_id/agents',
    {
      schema: {
        tags,
        security,
        summary: 'List the agents of an organization',
        params: OrganizationParams,
        querystring: AgentListQuery,
        response: { 200: AgentList, ...errorResponses(...ADMIN_ERRORS, 'not_found') },
      },
    },
    async ({ params, query }) => {
      await requireOrganization(database.reader, params.org_id);
      requireSameOrganization(params.org_id, query.organization_id);
      return list(deps, { ...query, organization_id: params.org_id });
    },
  );
};

function requireSameOrganization(path: string, sent: string | null | undefined): void {
  if (sent === undefined || sent === path) return;
  throw invalidRequest('organization_id: leave it out, or send the one of the path.');
}

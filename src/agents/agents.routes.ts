import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { callerOf } from '../admin/caller.ts';
import { type Actor, actorOf } from '../audit/actor.ts';
import { toTimestamp } from '../clock.ts';
import { invalidRequest, notFound } from '../errors.ts';
import { ADMIN_ERRORS, BODY_ERRORS, errorResponses, NoContent, splitPage, toPage } from '../schema.ts';
import {
  ActionDone,
  AgentAction,
  AgentAnswer,
  AgentCreated,
  AgentDetail,
  AgentList,
  AgentListQuery,
  AgentParams,
  agentBodies,
  DEFAULT_SCOPES,
  toAgentView,
  toSecretView,
} from './agents.schema.ts';
import {
  type AgentsDeps,
  changeAgent,
  createAgent,
  type NewAgent,
  noSuchOrganization,
  removeAgent,
  revokeAllTokens,
  rotateSecret,
} from './agents.service.ts';
import { type AgentFilter, findAgent, listAgents } from './agents.store.ts';
import { listLivingSecrets } from './secrets.store.ts';

const tags = ['agents'];
const security = [{ administrator: [] }];
export interface AgentsRoutesDeps extends AgentsDeps {
  scopes: readonly string[];
}

interface CreateBody {
  name: string;
  scopes?: string[];
  organization_id?: string | null;
  team_id?: string | null;
  expires_in?: number | null;
}

/** Agents as administrators see them; `me.routes.ts` has the agents' own view. */
export const agentsRoutes: FastifyPluginAsyncTypebox<AgentsRoutesDeps> = async (app, deps) => {
  const { database, clock } = deps;
  const { CreateAgent, UpdateAgent } = agentBodies(deps.scopes);

  app.post(
    '/api/agents',
    {
      schema: {
        tags,
        security,
        summary: 'Create an agent',
        description: 'The answer carries the client secret, this once.',
        body: CreateAgent,
        response: { 201: AgentCreated, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS) },
      },
    },
    async (request, reply) => {
      const body = placeWithin(request.body, callerOf(request).organizationId);
      return reply.code(201).send(await create(deps, body, actorOf(request)));
    },
  );

  app.get(
    '/api/agents',
    {
      schema: {
        tags,
        security,
        summary: 'List agents',
        querystring: AgentListQuery,
        response: { 200: AgentList, ...errorResponses(...ADMIN_ERRORS) },
      },
    },
    async (request) => list(deps, request.query, callerOf(request).organizationId),
  );

  app.get(
    '/api/agents/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Read an agent',
        params: AgentParams,
        response: { 200: AgentDetail, ...errorResponses(...ADMIN_ERRORS, 'not_found') },
      },
    },
    async ({ params }) => {
      const agent = await findAgent(database.reader, params.id);
      if (agent === null) throw notFound('agent');
      const secrets = await listLivingSecrets(database.reader, agent.id, clock.now());
      return { agent: { ...toAgentView(agent), secrets: secrets.map(toSecretView) } };
    },
  );

  app.put(
    '/api/agents/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Change an agent',
        description:
          'Any of the members; what is absent stays. A change of scopes narrows living tokens at once.',
        params: AgentParams,
        body: UpdateAgent,
        response: { 200: AgentAnswer, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found') },
      },
    },
    async (request) => {
      const { params, body } = request;
      const changes = {
        ...(body.name !== undefined && { name: body.name }),
        ...(body.scopes !== undefined && { scopes: body.scopes }),
        ...(body.is_active !== undefined && { isActive: body.is_active }),
        ...(body.team_id !== undefined && { teamId: body.team_id }),
        ...(body.expires_in !== undefined && { expiresInSeconds: body.expires_in }),
      };
      return { agent: toAgentView(await changeAgent(deps, params.id, changes, actorOf(request))) };
    },
  );

  app.post(
    '/api/agents/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Rotate the secret, deactivate, reactivate, or revoke all tokens',
        description:
          '`rotate` answers the new `client_secret`, this once; the other actions answer the agent.',
        params: AgentParams,
        body: AgentAction,
        response: {
          200: ActionDone,
          ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found', 'conflict'),
        },
      },
    },
    async (request) => act(deps, request.params.id, request.body, actorOf(request)),
  );

  app.delete(
    '/api/agents/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Delete an agent',
        description: 'Its secrets and tokens end at once.',
        params: AgentParams,
        response: { 204: NoContent, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found') },
      },
    },
    async (request, reply) => {
      await removeAgent(deps, request.params.id, actorOf(request));
      return reply.code(204).send(null);
    },
  );
};

/** What `POST` answers, here and under an organization. */
export async function create(deps: AgentsDeps, body: CreateBody, by: Actor) {
  const { agent, clientSecret } = await createAgent(deps, toNewAgent(body), by);
  return { agent: toAgentView(agent), client_id: agent.clientId, client_secret: clientSecret };
}

/** Who is bound to an organization makes agents there, and knows of no other. */
function placeWithin(body: CreateBody, organizationId: string | null): CreateBody {
  const wanted = body.organization_id ?? organizationId;
  if (organizationId !== null && wanted !== organizationId) throw noSuchOrganization();
  return { ...body, organization_id: wanted };
}

function toNewAgent(body: CreateBody): NewAgent {
  return {
    name: body.name,
    scopes: body.scopes ?? DEFAULT_SCOPES,
    organizationId: body.organization_id ?? null,
    teamId: body.team_id ?? null,
    expiresInSeconds: body.expires_in ?? null,
  };
}

interface ListQuery {
  limit?: number;
  cursor?: string;
  organization_id?: string;
  team_id?: string;
  is_active?: boolean;
  q?: string;
}

/** What `GET` of the list answers, here and under an organization. */
export async function list(deps: AgentsDeps, query: ListQuery, within: string | null = null) {
  const filter: AgentFilter = {
    ...(within !== null && { within }),
    ...(query.organization_id !== undefined && { organizationId: query.organization_id }),
    ...(query.team_id !== undefined && { teamId: query.team_id }),
    ...(query.is_active !== undefined && { isActive: query.is_active }),
    ...(query.q !== undefined && { search: query.q }),
  };
  const page = toPage(query);
  const { items, next } = splitPage(await listAgents(deps.database.reader, filter, page), page.limit);
  return { agents: items.map(toAgentView), ...next };
}

async function act(
  deps: AgentsDeps,
  id: string,
  body: { action: string; grace_period_secs?: number },
  by: Actor,
) {
  if (body.action !== 'rotate' && body.grace_period_secs !== undefined) {
    throw invalidRequest('grace_period_secs: it goes with the action rotate.');
  }
  switch (body.action) {
    case 'rotate': {
      const rotation = { gracePeriodSeconds: body.grace_period_secs ?? 0, by };
      return toRotationView(await rotateSecret(deps, id, rotation));
    }
    case 'deactivate':
      return done('The agent is deactivated.', await changeAgent(deps, id, { isActive: false }, by));
    case 'reactivate':
      return done('The agent is active.', await changeAgent(deps, id, { isActive: true }, by));
    default:
      return done('All tokens of the agent are revoked.', await revokeAllTokens(deps, id, by));
  }
}

const done = (message: string, agent: Parameters<typeof toAgentView>[0]) => ({
  message,
  agent: toAgentView(agent),
});

export const toRotationView = (rotated: Awaited<ReturnType<typeof rotateSecret>>) => ({
  client_id: rotated.agent.clientId,
  client_secret: rotated.clientSecret as string,
  previous_secrets_expire_at: toTimestamp(rotated.previousSecretsExpireAt),
});

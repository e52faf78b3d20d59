import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { actorOf } from '../audit/actor.ts';
import { toTimestamp, toTimestampOrNull } from '../clock.ts';
import { insufficientScope, invalidToken, ServiceError } from '../errors.ts';
import { BODY_ERRORS, errorResponses, NoContent } from '../schema.ts';
import type { Agent } from './agent.ts';
import { toRotationView } from './agents.routes.ts';
import { AgentAnswer, Message, RotateMe, SecretRotated, toAgentView, Usage } from './agents.schema.ts';
import { type AgentsDeps, changeAgent, removeAgent, rotateSecret } from './agents.service.ts';
import { findAgent, touchActivity } from './agents.store.ts';
import { listRotations } from './secrets.store.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose access token the request carries; set on agent paths before any handler runs. */
    bearer: { agentId: string; agentName: string; scopes: readonly string[] } | null;
  }
}

const tags = ['self-service'];
const security = [{ accessToken: [] }];
const ACTIVITY_STEP_MILLISECONDS = 60_000;

/** What an agent may do to itself. Reading takes any valid token, changing one with all of the agent's scopes. */
export const meRoutes: FastifyPluginAsyncTypebox<AgentsDeps> = async (app, deps) => {
  app.get(
    '/api/agents/me',
    {
      schema: {
        tags,
        security,
        summary: 'Read yourself',
        response: { 200: AgentAnswer, ...errorResponses('invalid_token') },
      },
    },
    async (request) => ({ agent: toAgentView(await seenAgent(deps, request)) }),
  );

  app.get(
    '/api/agents/me/usage',
    {
      schema: {
        tags,
        security,
        summary: 'Read your usage',
        response: { 200: Usage, ...errorResponses('invalid_token') },
      },
    },
    async (request) => {
      const agent = await seenAgent(deps, request);
      const rotations = await listRotations(deps.database.reader, agent.id);
      return {
        token_count: agent.tokenCount,
        refresh_count: agent.refreshCount,
        last_activity_at: toTimestampOrNull(agent.lastActivityAt),
        rotation_history: rotations.map((rotatedAt) => ({ rotated_at: toTimestamp(rotatedAt) })),
      };
    },
  );

  app.post(
    '/api/agents/me/rotate',
    {
      schema: {
        tags,
        security,
        summary: 'Rotate your secret',
        description:
          'Refresh tokens from earlier secrets end with them; access tokens live until they expire.',
        body: RotateMe,
        response: {
          200: SecretRotated,
          ...errorResponses(...BODY_ERRORS, 'invalid_token', 'insufficient_scope', 'conflict'),
        },
      },
    },
    async (request) => {
      const agent = await fullyScopedAgent(deps, request);
      const gracePeriodSeconds = request.body?.grace_period_secs ?? 0;
      return toRotationView(
        await unlessGone(rotateSecret(deps, agent.id, { gracePeriodSeconds, by: actorOf(request) })),
      );
    },
  );

  app.post(
    '/api/agents/me/deactivate',
    {
      schema: {
        tags,
        security,
        summary: 'Deactivate yourself',
        description: 'Ends every token of the agent. Only an administrator can reactivate it.',
        response: { 200: Message, ...errorResponses(...BODY_ERRORS, 'invalid_token', 'insufficient_scope') },
      },
    },
    async (request) => {
      const agent = await fullyScopedAgent(deps, request);
      await unlessGone(changeAgent(deps, agent.id, { isActive: false }, actorOf(request)));
      return { message: 'The agent is deactivated. An administrator can reactivate it.' };
    },
  );

  app.delete(
    '/api/agents/me/delete',
    {
      schema: {
        tags,
        security,
        summary: 'Delete yourself',
        description: 'Ends every token and secret of the agent. It cannot be undone.',
        response: {
          204: NoContent,
          ...errorResponses(...BODY_ERRORS, 'invalid_token', 'insufficient_scope'),
        },
      },
    },
    async (request, reply) => {
      const agent = await fullyScopedAgent(deps, request);
      await unlessGone(removeAgent(deps, agent.id, actorOf(request)));
      return reply.code(204).send(null);
    },
  );
};

/** The agent of the request, its activity noted at most once a minute. */
async function seenAgent(deps: AgentsDeps, request: FastifyRequest): Promise<Agent> {
  const agent = await bearerAgent(deps, request);
  const now = deps.clock.now();
  const notSince = now - ACTIVITY_STEP_MILLISECONDS;
  if (agent.lastActivityAt !== null && agent.lastActivityAt > notSince) return agent;
  await deps.database.transaction((tx) => touchActivity(tx, { agentId: agent.id, now, notSince }));
  return { ...agent, lastActivityAt: now };
}

/** A narrowed token can never raise itself to what the agent as a whole may do. */
async function fullyScopedAgent(deps: AgentsDeps, request: FastifyRequest): Promise<Agent> {
  const agent = await seenAgent(deps, request);
  const held = request.bearer?.scopes ?? [];
  if (!agent.scopes.every((scope) => held.includes(scope))) throw insufficientScope(agent.scopes);
  return agent;
}

async function bearerAgent(deps: AgentsDeps, request: FastifyRequest): Promise<Agent> {
  const agent =
    request.bearer === null ? null : await findAgent(deps.database.reader, request.bearer.agentId);
  if (agent === null) throw agentGone();
  return agent;
}

/** Between the look at the token and the change the agent may be deleted: then its token is worth nothing, too. */
async function unlessGone<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    throw error instanceof ServiceError && error.code === 'not_found' ? agentGone() : error;
  }
}

const agentGone = () => invalidToken('The agent of this token does not exist any more.');

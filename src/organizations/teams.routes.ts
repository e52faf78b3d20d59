import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { actorOf } from '../audit/actor.ts';
import { ADMIN_ERRORS, BODY_ERRORS, errorResponses, NoContent, splitPage, toPage } from '../schema.ts';
import {
  CreateTeam,
  TeamAnswer,
  TeamList,
  TeamListQuery,
  TeamParams,
  TeamsParams,
  toTeamView,
  UpdateTeam,
} from './organizations.schema.ts';
import { requireOrganization } from './organizations.service.ts';
import { changeTeam, createTeam, removeTeam, requireTeam, type TeamsDeps } from './teams.service.ts';
import { listTeams, type TeamKey } from './teams.store.ts';

const tags = ['teams'];
const security = [{ administrator: [] }];

export const teamsRoutes: FastifyPluginAsyncTypebox<TeamsDeps> = async (app, deps) => {
  const { database } = deps;

  app.post(
    '/api/organizations/:org_id/teams',
    {
      schema: {
        tags,
        security,
        summary: 'Create a team',
        params: TeamsParams,
        body: CreateTeam,
        response: { 201: TeamAnswer, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found') },
      },
    },
    async (request, reply) => {
      const { params, body } = request;
      const input = {
        organizationId: params.org_id,
        name: body.name,
        description: body.description ?? '',
      };
      return reply.code(201).send(toTeamView(await createTeam(deps, input, actorOf(request))));
    },
  );

  app.get(
    '/api/organizations/:org_id/teams',
    {
      schema: {
        tags,
        security,
        summary: 'List the teams of an organization',
        params: TeamsParams,
        querystring: TeamListQuery,
        response: { 200: TeamList, ...errorResponses(...ADMIN_ERRORS, 'not_found') },
      },
    },
    async ({ params, query }) => {
      await requireOrganization(database.reader, params.org_id);
      const page = toPage(query);
      const teams = await listTeams(database.reader, params.org_id, page);
      const { items, next } = splitPage(teams, page.limit);
      return { teams: items.map(toTeamView), ...next };
    },
  );

  app.get(
    '/api/organizations/:org_id/teams/:team_id',
    {
      schema: {
        tags,
        security,
        summary: 'Read a team',
        params: TeamParams,
        response: { 200: TeamAnswer, ...errorResponses(...ADMIN_ERRORS, 'not_found') },
      },
    },
    async ({ params }) => toTeamView(await requireTeam(database.reader, toKey(params))),
  );

  app.put(
    '/api/organizations/:org_id/teams/:team_id',
    {
      schema: {
        tags,
        security,
        summary: 'Change a team',
        params: TeamParams,
        body: UpdateTeam,
        response: { 200: TeamAnswer, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found') },
      },
    },
    async (request) =>
      toTeamView(await changeTeam(deps, toKey(request.params), request.body, actorOf(request))),
  );

  app.delete(
    '/api/organizations/:org_id/teams/:team_id',
    {
      schema: {
        tags,
        security,
        summary: 'Delete a team',
        description: 'Its agents stay in the organization.',
        params: TeamParams,
        response: { 204: NoContent, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found') },
      },
    },
    async (request, reply) => {
      await removeTeam(deps, toKey(request.params), actorOf(request));
      return reply.code(204).send(null);
    },
  );
};

const toKey = (params: { org_id: string; team_id: string }): TeamKey => ({
  organizationId: params.org_id,
  id: params.team_id,
});

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { callerOf } from '../admin/caller.ts';
import type { AgentsDeps } from '../agents/agents.service.ts';
import { actorOf } from '../audit/actor.ts';
import { ADMIN_ERRORS, BODY_ERRORS, errorResponses, NoContent, splitPage, toPage } from '../schema.ts';
import {
  CreateOrganization,
  OrganizationAnswer,
  OrganizationList,
  OrganizationListQuery,
  OrganizationParams,
  toOrganizationView,
  UpdateOrganization,
} from './organizations.schema.ts';
import {
  changeOrganization,
  createOrganization,
  removeOrganization,
  requireOrganization,
} from './organizations.service.ts';
import { listOrganizations } from './organizations.store.ts';

const tags = ['organizations'];
const security = [{ administrator: [] }];

export const organizationsRoutes: FastifyPluginAsyncTypebox<AgentsDeps> = async (app, deps) => {
  const { database } = deps;

  app.post(
    '/api/organizations',
    {
      schema: {
        tags,
        security,
        summary: 'Create an organization',
        body: CreateOrganization,
        response: { 201: OrganizationAnswer, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'conflict') },
      },
    },
    async (request, reply) => {
      const { body } = request;
      const input = { name: body.name, slug: body.slug, ownerEmail: body.owner_email };
      return reply
        .code(201)
        .send(toOrganizationView(await createOrganization(deps, input, actorOf(request))));
    },
  );

  app.get(
    '/api/organizations',
    {
      schema: {
        tags,
        security,
        summary: 'List organizations',
        querystring: OrganizationListQuery,
        response: { 200: OrganizationList, ...errorResponses(...ADMIN_ERRORS) },
      },
    },
    async (request) => {
      const page = toPage(request.query);
      const { organizationId } = callerOf(request);
      const found = await listOrganizations(database.reader, page, organizationId);
      const { items, next } = splitPage(found, page.limit);
      return { organizations: items.map(toOrganizationView), ...next };
    },
  );

  app.get(
    '/api/organizations/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Read an organization',
        params: OrganizationParams,
        response: { 200: OrganizationAnswer, ...errorResponses(...ADMIN_ERRORS, 'not_found') },
      },
    },
    async ({ params }) => toOrganizationView(await requireOrganization(database.reader, params.id)),
  );

  app.put(
    '/api/organizations/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Change an organization',
        description: 'A new token lifetime holds for tokens issued from then on.',
        params: OrganizationParams,
        body: UpdateOrganization,
        response: {
          200: OrganizationAnswer,
          ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found'),
        },
      },
    },
    async (request) => {
      const { params, body } = request;
      const changes = {
        ...(body.name !== undefined && { name: body.name }),
        ...(body.jwt_expiry_secs !== undefined && { jwtExpirySeconds: body.jwt_expiry_secs }),
      };
      return toOrganizationView(await changeOrganization(deps, params.id, changes, actorOf(request)));
    },
  );

  app.delete(
    '/api/organizations/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Delete an organization with its teams and agents',
        description: 'The administrators who are bound to it are removed, too.',
        params: OrganizationParams,
        response: { 204: NoContent, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found') },
      },
    },
    async (request, reply) => {
      await removeOrganization(deps, request.params.id, actorOf(request));
      return reply.code(204).send(null);
    },
  );
};

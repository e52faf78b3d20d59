import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { actorOf } from '../audit/actor.ts';
import { invalidRequest } from '../errors.ts';
import { ADMIN_ERRORS, BODY_ERRORS, errorResponses, NoContent, splitPage, toPage } from '../schema.ts';
import {
  AdministratorAnswer,
  AdministratorCreated,
  AdministratorList,
  AdministratorListQuery,
  AdministratorParams,
  ApiKeyList,
  ApiKeyListQuery,
  CreateAdministrator,
  KeyOfAdministratorParams,
  toAdministratorView,
  toApiKeyView,
  UpdateAdministrator,
} from './administrators.schema.ts';
import {
  type AdministratorsDeps,
  addAdministrator,
  changeAdministrator,
  removeAdministrator,
  requireAdministrator,
} from './administrators.service.ts';
import { pageAdministrators } from './administrators.store.ts';
import { removeApiKey } from './api-keys.service.ts';
import { listApiKeys } from './api-keys.store.ts';
import { callerOf } from './caller.ts';
import { generatePassword } from './password.ts';

const tags = ['administrators'];
const security = [{ administrator: [] }];

/** Administrators as owners see them; `own-account.routes.ts` has what each may do to themselves. */
export const administratorsRoutes: FastifyPluginAsyncTypebox<AdministratorsDeps> = async (app, deps) => {
  const { database } = deps;

  app.post(
    '/api/administrators',
    {
      schema: {
        tags,
        security,
        summary: 'Make an administrator',
        description: 'Where no password is sent, one is made and answered, this once.',
        body: CreateAdministrator,
        response: {
          201: AdministratorCreated,
          ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'conflict'),
        },
      },
    },
    async (request, reply) => {
      const { body } = request;
      const password = body.password ?? generatePassword();
      const { email, role, organization_id: organizationId = null } = body;
      const input = { email, password, role, organizationId };
      const administrator = await addAdministrator(deps, input, actorOf(request));
      return reply.code(201).send({
        administrator: toAdministratorView(administrator),
        ...(body.password === undefined && { password }),
      });
    },
  );

  app.get(
    '/api/administrators',
    {
      schema: {
        tags,
        security,
        summary: 'List administrators',
        querystring: AdministratorListQuery,
        response: { 200: AdministratorList, ...errorResponses(...ADMIN_ERRORS) },
      },
    },
    async ({ query }) => {
      const page = toPage(query);
      const { items, next } = splitPage(await pageAdministrators(database.reader, page), page.limit);
      return { administrators: items.map(toAdministratorView), ...next };
    },
  );

  app.get(
    '/api/administrators/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Read an administrator',
        params: AdministratorParams,
        response: { 200: AdministratorAnswer, ...errorResponses(...ADMIN_ERRORS, 'not_found') },
      },
    },
    async ({ params }) => ({
      administrator: toAdministratorView(await requireAdministrator(database.reader, params)),
    }),
  );

  app.put(
    '/api/administrators/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Change an administrator',
        description:
          'Any of the members; what is absent stays. It holds from the next request on. The last owner stays one.',
        params: AdministratorParams,
        body: UpdateAdministrator,
        response: {
          200: AdministratorAnswer,
          ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found', 'conflict'),
        },
      },
    },
    async (request) => {
      const { params, body } = request;
      if (body.password !== undefined && params.id === callerOf(request).id)
        throw invalidRequest('password: change your own at /api/administrators/me, with the current one.');
      const changes = {
        ...(body.email !== undefined && { email: body.email }),
        ...(body.role !== undefined && { role: body.role }),
        ...(body.organization_id !== undefined && { organizationId: body.organization_id }),
        ...(body.password !== undefined && { password: body.password }),
        ...(body.revoke_keys !== undefined && { revokeKeys: body.revoke_keys }),
      };
      const changed = await changeAdministrator(deps, params, changes, actorOf(request));
      return { administrator: toAdministratorView(changed) };
    },
  );

  app.delete(
    '/api/administrators/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Remove an administrator',
        description: 'Their password and their API keys end at once. Never the last owner.',
        params: AdministratorParams,
        response: {
          204: NoContent,
          ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found', 'conflict'),
        },
      },
    },
    async (request, reply) => {
      await removeAdministrator(deps, request.params, actorOf(request));
      return reply.code(204).send(null);
    },
  );

  app.get(
    '/api/administrators/:id/keys',
    {
      schema: {
        tags,
        security,
        summary: 'List the API keys of an administrator',
        params: AdministratorParams,
        querystring: ApiKeyListQuery,
        response: { 200: ApiKeyList, ...errorResponses(...ADMIN_ERRORS, 'not_found') },
      },
    },
    async ({ params, query }) => {
      const { id } = await requireAdministrator(database.reader, params);
      const page = toPage(query);
      const { items, next } = splitPage(await listApiKeys(database.reader, id, page), page.limit);
      return { keys: items.map(toApiKeyView), ...next };
    },
  );

  app.delete(
    '/api/administrators/:id/keys/:key_id',
    {
      schema: {
        tags,
        security,
        summary: 'End an API key of an administrator',
        params: KeyOfAdministratorParams,
        response: { 204: NoContent, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found') },
      },
    },
    async (request, reply) => {
      const { id: administratorId, key_id: id } = request.params;
      await removeApiKey(deps, { administratorId, id }, actorOf(request));
      return reply.code(204).send(null);
    },
  );
};

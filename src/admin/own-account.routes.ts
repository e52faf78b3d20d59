import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { actorOf } from '../audit/actor.ts';
import { invalidRequest } from '../errors.ts';
import { ADMIN_ERRORS, BODY_ERRORS, errorResponses, NoContent, splitPage, toPage } from '../schema.ts';
import {
  AdministratorAnswer,
  ApiKeyCreated,
  ApiKeyList,
  ApiKeyListQuery,
  ChangeOwnPassword,
  CreateApiKey,
  Myself,
  OwnKeyParams,
  toAdministratorView,
  toApiKeyView,
} from './administrators.schema.ts';
import {
  type AdministratorsDeps,
  changeAdministrator,
  requireAdministrator,
} from './administrators.service.ts';
import type { Administrators } from './administrators.ts';
import { addApiKey, removeApiKey } from './api-keys.service.ts';
import { listApiKeys } from './api-keys.store.ts';
import { callerOf } from './caller.ts';

interface Deps extends AdministratorsDeps {
  administrators: Administrators;
}

const tags = ['administrators'];
const security = [{ administrator: [] }];

/** What every administrator, of any role, may see of and do to themselves. */
export const ownAccountRoutes: FastifyPluginAsyncTypebox<Deps> = async (app, deps) => {
  const { database, administrators } = deps;

  app.get(
    '/api/administrators/me',
    {
      schema: {
        tags,
        security,
        summary: 'Read who you are',
        description: '`key` is the API key that was sent; null where it was the password.',
        response: { 200: Myself, ...errorResponses(...ADMIN_ERRORS, 'not_found') },
      },
    },
    async (request) => {
      const { id, key } = callerOf(request);
      const administrator = await requireAdministrator(database.reader, { id });
      return {
        administrator: toAdministratorView(administrator),
        key: key === null ? null : toApiKeyView(key),
      };
    },
  );

  app.put(
    '/api/administrators/me',
    {
      schema: {
        tags,
        security,
        summary: 'Change your password',
        description: 'The old one ends at once; your API keys where `revoke_keys` says so.',
        body: ChangeOwnPassword,
        response: {
          200: AdministratorAnswer,
          ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found', 'conflict'),
        },
      },
    },
    async (request) => {
      const { id, email } = callerOf(request);
      const { current_password, password, revoke_keys } = request.body;
      const login = { email, password: current_password, address: request.ip };
      if ((await administrators.authenticate(login)) === null)
        throw invalidRequest('current_password: it is wrong.');
      const changes = { password, revokeKeys: revoke_keys ?? false };
      const changed = await changeAdministrator(deps, { id }, changes, actorOf(request));
      return { administrator: toAdministratorView(changed) };
    },
  );

  app.post(
    '/api/administrators/me/keys',
    {
      schema: {
        tags,
        security,
        summary: 'Make an API key',
        description:
          'The answer carries the key, this once. `role` narrows it; it never has more than yours.',
        body: CreateApiKey,
        response: {
          201: ApiKeyCreated,
          ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found', 'conflict'),
        },
      },
    },
    async (request, reply) => {
      const { name, role, expires_in } = request.body;
      const input = {
        administratorId: callerOf(request).id,
        name,
        role: role ?? null,
        expiresInSeconds: expires_in ?? null,
      };
      const { key, secret } = await addApiKey(deps, input, actorOf(request));
      return reply.code(201).send({ key: toApiKeyView(key), secret });
    },
  );

  app.get(
    '/api/administrators/me/keys',
    {
      schema: {
        tags,
        security,
        summary: 'List your API keys',
        querystring: ApiKeyListQuery,
        response: { 200: ApiKeyList, ...errorResponses(...ADMIN_ERRORS) },
      },
    },
    async (request) => {
      const page = toPage(request.query);
      const keys = await listApiKeys(database.reader, callerOf(request).id, page);
      const { items, next } = splitPage(keys, page.limit);
      return { keys: items.map(toApiKeyView), ...next };
    },
  );

  app.delete(
    '/api/administrators/me/keys/:key_id',
    {
      schema: {
        tags,
        security,
        summary: 'End one of your API keys',
        params: OwnKeyParams,
        response: { 204: NoContent, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found') },
      },
    },
    async (request, reply) => {
      const ref = { administratorId: callerOf(request).id, id: request.params.key_id };
      await removeApiKey(deps, ref, actorOf(request));
      return reply.code(204).send(null);
    },
  );
};

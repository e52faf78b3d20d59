import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { actorOf } from '../audit/actor.ts';
import { toTimestamp } from '../clock.ts';
import { invalidRequest } from '../errors.ts';
import { eventTypes } from '../events/event.ts';
import { ADMIN_ERRORS, BODY_ERRORS, errorResponses, NoContent, splitPage, toPage } from '../schema.ts';
import { DEFAULT_MAX_RETRIES, normalizeEvents, problemOfUrl } from './webhook.ts';
import {
  CreateWebhook,
  EventTypes,
  ListQuery,
  SecretRotated,
  toWebhookView,
  UpdateWebhook,
  WebhookAnswer,
  WebhookCreated,
  WebhookList,
  WebhookParams,
} from './webhooks.schema.ts';
import {
  changeWebhook,
  createWebhook,
  removeWebhook,
  requireWebhook,
  rotateWebhookSecret,
  type WebhooksDeps,
} from './webhooks.service.ts';
import { listWebhooks } from './webhooks.store.ts';

const tags = ['webhooks'];
const security = [{ administrator: [] }];

export const webhooksRoutes: FastifyPluginAsyncTypebox<WebhooksDeps> = async (app, deps) => {
  const { database } = deps;

  app.post(
    '/api/webhooks',
    {
      schema: {
        tags,
        security,
        summary: 'Create a webhook',
        description: 'The answer carries the signing secret, this once.',
        body: CreateWebhook,
        response: { 201: WebhookCreated, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS) },
      },
    },
    async (request, reply) => {
      const { body } = request;
      const input = {
        name: body.name,
        url: checkedUrl(body.url),
        events: normalizeEvents(body.events),
        maxRetries: body.max_retries ?? DEFAULT_MAX_RETRIES,
      };
      const { webhook, secret } = await createWebhook(deps, input, actorOf(request));
      return reply.code(201).send({ webhook: toWebhookView(webhook), secret });
    },
  );

  app.get(
    '/api/webhooks',
    {
      schema: {
        tags,
        security,
        summary: 'List webhooks',
        querystring: ListQuery,
        response: { 200: WebhookList, ...errorResponses(...ADMIN_ERRORS) },
      },
    },
    async ({ query }) => {
      const page = toPage(query);
      const { items, next } = splitPage(await listWebhooks(database.reader, page), page.limit);
      return { webhooks: items.map(toWebhookView), ...next };
    },
  );

  app.get(
    '/api/webhooks/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Read a webhook',
        params: WebhookParams,
        response: { 200: WebhookAnswer, ...errorResponses(...ADMIN_ERRORS, 'not_found') },
      },
    },
    async ({ params }) => ({ webhook: toWebhookView(await requireWebhook(database.reader, params.id)) }),
  );

  app.put(
    '/api/webhooks/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Change a webhook',
        description: 'Any of the members; what is absent stays.',
        params: WebhookParams,
        body: UpdateWebhook,
        response: { 200: WebhookAnswer, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found') },
      },
    },
    async (request) => {
      const { params, body } = request;
      const changes = {
        ...(body.name !== undefined && { name: body.name }),
        ...(body.url !== undefined && { url: checkedUrl(body.url) }),
        ...(body.events !== undefined && { events: normalizeEvents(body.events) }),
        ...(body.is_active !== undefined && { isActive: body.is_active }),
        ...(body.max_retries !== undefined && { maxRetries: body.max_retries }),
      };
      return { webhook: toWebhookView(await changeWebhook(deps, params.id, changes, actorOf(request))) };
    },
  );

  app.delete(
    '/api/webhooks/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Delete a webhook',
        params: WebhookParams,
        response: { 204: NoContent, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found') },
      },
    },
    async (request, reply) => {
      await removeWebhook(deps, request.params.id, actorOf(request));
      return reply.code(204).send(null);
    },
  );

  app.post(
    '/api/webhooks/:id/rotate-secret',
    {
      schema: {
        tags,
        security,
        summary: 'Rotate the signing secret',
        description:
          'The answer carries the new secret, this once. For 24 hours the old one signs beside it.',
        params: WebhookParams,
        response: { 200: SecretRotated, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found') },
      },
    },
    async (request) => {
      const rotated = await rotateWebhookSecret(deps, request.params.id, actorOf(request));
      const { secret, previousSecretExpiresAt } = rotated;
      return { secret, previous_secret_expires_at: toTimestamp(previousSecretExpiresAt) };
    },
  );

  app.get(
    '/api/webhook-events',
    {
      schema: {
        tags,
        security,
        summary: 'List the event types',
        response: { 200: EventTypes, ...errorResponses(...ADMIN_ERRORS) },
      },
    },
    async () => ({ events: eventTypes }),
  );
};

function checkedUrl(url: string): string {
  const problem = problemOfUrl(url);
  if (problem !== null) throw invalidRequest(problem);
  return url;
}

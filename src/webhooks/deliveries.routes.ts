import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { actorOf } from '../audit/actor.ts';
import type { EventType } from '../events/event.ts';
import { ADMIN_ERRORS, BODY_ERRORS, errorResponses, splitPage, toPage } from '../schema.ts';
import {
  type DeliveriesDeps,
  redeliver,
  requireDelivery,
  type TestOutcome,
  testWebhook,
} from './deliveries.service.ts';
import { listAttempts, listDeliveries } from './deliveries.store.ts';
import {
  DeliveryAnswer,
  DeliveryDetail,
  DeliveryList,
  DeliveryListQuery,
  DeliveryParams,
  TestResult,
  TestWebhook,
  toAttemptView,
  toDeliveryView,
  WebhookParams,
} from './webhooks.schema.ts';
import { requireWebhook } from './webhooks.service.ts';

const tags = ['webhooks'];
const security = [{ administrator: [] }];

/** What was sent to a webhook, and sending it again. */
export const deliveriesRoutes: FastifyPluginAsyncTypebox<DeliveriesDeps> = async (app, deps) => {
  const { database } = deps;

  app.post(
    '/api/webhooks/:id/test',
    {
      schema: {
        tags,
        security,
        summary: 'Send one signed request now',
        description:
          'Waits for the answer, ten seconds at the most. Recorded as a delivery, and not repeated.',
        params: WebhookParams,
        body: TestWebhook,
        response: { 200: TestResult, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found') },
      },
    },
    async (request) => {
      const { params, body } = request;
      const test = { type: (body?.event ?? 'webhook.test') as EventType, by: actorOf(request) };
      return toTestResult(await testWebhook(deps, params.id, test));
    },
  );

  app.get(
    '/api/webhooks/:id/deliveries',
    {
      schema: {
        tags,
        security,
        summary: 'List the deliveries of a webhook',
        params: WebhookParams,
        querystring: DeliveryListQuery,
        response: { 200: DeliveryList, ...errorResponses(...ADMIN_ERRORS, 'not_found') },
      },
    },
    async ({ params, query }) => {
      await requireWebhook(database.reader, params.id);
      const filter = {
        webhookId: params.id,
        ...(query.status !== undefined && { status: query.status }),
        ...(query.event !== undefined && { eventType: query.event }),
      };
      const page = toPage(query);
      const { items, next } = splitPage(await listDeliveries(database.reader, filter, page), page.limit);
      return { deliveries: items.map(toDeliveryView), ...next };
    },
  );

  app.get(
    '/api/webhooks/:id/deliveries/:delivery_id',
    {
      schema: {
        tags,
        security,
        summary: 'Read a delivery with its attempts',
        params: DeliveryParams,
        response: { 200: DeliveryDetail, ...errorResponses(...ADMIN_ERRORS, 'not_found') },
      },
    },
    async ({ params }) => {
      await requireWebhook(database.reader, params.id);
      // In this order the delivery is never older than its attempts, which another request may be adding to.
      const attempts = await listAttempts(database.reader, params.delivery_id);
      const delivery = await requireDelivery(database.reader, toKey(params));
      return { delivery: { ...toDeliveryView(delivery), attempt_history: attempts.map(toAttemptView) } };
    },
  );

  app.post(
    '/api/webhooks/:id/deliveries/:delivery_id/redeliver',
    {
      schema: {
        tags,
        security,
        summary: 'Deliver an event again',
        description: 'Makes a new delivery of the same event, with the same event id and body.',
        params: DeliveryParams,
        response: {
          201: DeliveryAnswer,
          ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS, 'not_found', 'conflict'),
        },
      },
    },
    async (request, reply) => {
      const delivery = await redeliver(deps, toKey(request.params), actorOf(request));
      return reply.code(201).send({ delivery: toDeliveryView(delivery) });
    },
  );
};

const toKey = (params: { id: string; delivery_id: string }) => ({
  webhookId: params.id,
  id: params.delivery_id,
});

function toTestResult({ deliveryId, isSuccess, exchange }: TestOutcome) {
  const statusCode = exchange.statusCode ?? 0;
  return {
    success: isSuccess,
    status_code: statusCode,
    duration_ms: exchange.durationMs,
    delivery_id: deliveryId,
    ...(!isSuccess && { error: exchange.error ?? `the receiver answered ${statusCode}` }),
  };
}

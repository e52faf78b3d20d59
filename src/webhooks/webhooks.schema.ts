import { type Static, Type } from 'typebox';
import { toTimestamp, toTimestampOrNull } from '../clock.ts';
import { eventTypes } from '../events/event.ts';
import { Body, Id, idParam, Name, NextCursor, Nullable, pageQuery, Timestamp } from '../schema.ts';
import type { Delivery, DeliveryAttempt } from './deliveries.store.ts';
import { ALL_EVENTS, DEFAULT_MAX_RETRIES, type Webhook } from './webhook.ts';

const statuses = ['pending', 'retrying', 'delivered', 'failed', 'dead'] as const;

const Url = Type.String({
  maxLength: 2048,
  description: 'http or https, without a user name.',
  examples: ['https://receiver.example/signet'],
});
const Events = Type.Array(Type.String({ enum: [ALL_EVENTS, ...eventTypes] }), {
  maxItems: 100,
  description: 'The types to receive; `*`, an empty list or none at all mean every type.',
  examples: [['agent.created', 'agent.deleted']],
});
const MaxRetries = Type.Integer({
  minimum: 1,
  maximum: 100,
  default: DEFAULT_MAX_RETRIES,
  description: 'The most attempts per delivery, the first one included.',
});

const WebhookView = Type.Object(
  {
    id: Id('webhook'),
    name: Type.String({ examples: ['audit trail'] }),
    url: Type.String({ examples: ['https://receiver.example/signet'] }),
    events: Type.Array(Type.String(), { examples: [['agent.created']] }),
    is_active: Type.Boolean(),
    max_retries: Type.Integer({ examples: [DEFAULT_MAX_RETRIES] }),
    consecutive_fails: Type.Integer({ description: 'Deliveries that ended dead, in a row.' }),
    created_at: Timestamp,
  },
  { title: 'Webhook' },
);

const DeliveryView = Type.Object(
  {
    id: Id('delivery'),
    event: Type.String({ examples: ['agent.created'] }),
    event_id: Id('evt'),
    status: Type.String({
      enum: [...statuses],
      description: '`pending` and `retrying` wait; `delivered`, `failed` and `dead` are final.',
    }),
    attempts: Type.Integer({ description: 'Requests made, the one under way included.' }),
    max_attempts: Type.Integer(),
    last_attempt_at: Nullable(Timestamp),
    next_attempt_at: Nullable(Timestamp),
    failure_reason: Nullable(
      Type.String({
        enum: ['gone', 'blocked_target', 'webhook_deleted', 'webhook_disabled', 'backlog_full'],
      }),
    ),
    created_at: Timestamp,
  },
  { title: 'Delivery' },
);

const AttemptView = Type.Object({
  attempt: Type.Integer(),
  started_at: Timestamp,
  duration_ms: Type.Integer(),
  status_code: Nullable(Type.Integer({ description: 'null where nobody answered.' })),
  error: Nullable(Type.String({ description: 'Why nobody answered.', examples: ['connection refused'] })),
  response_start: Nullable(Type.String({ description: 'The first 16 KiB of the answer.' })),
});

export const WebhookParams = Type.Object({ id: idParam('webhook') });
export const DeliveryParams = Type.Object({ id: idParam('webhook'), delivery_id: idParam('delivery') });
export const ListQuery = Body(pageQuery('webhook'));
export const DeliveryListQuery = Body({
  ...pageQuery('delivery'),
  status: Type.Optional(Type.Enum([...statuses])),
  event: Type.Optional(Type.String({ enum: eventTypes })),
});

export const CreateWebhook = Body({
  name: Name,
  url: Url,
  events: Type.Optional(Events),
  max_retries: Type.Optional(MaxRetries),
});
export const UpdateWebhook = Body(
  {
    name: Type.Optional(Name),
    url: Type.Optional(Url),
    events: Type.Optional(Events),
    is_active: Type.Optional(Type.Boolean()),
    max_retries: Type.Optional(MaxRetries),
  },
  { minProperties: 1 },
);

export const WebhookCreated = Type.Object({
  webhook: WebhookView,
  secret: Type.String({
    description: 'The signing secret, shown this once.',
    examples: ['whsec_9sVXvV0p1J3Xw0o7m0bT5T0m1zq8l2n4r6t8v0y2A4C6'],
  }),
});
export const WebhookAnswer = Type.Object({ webhook: WebhookView });
export const WebhookList = Type.Object({ webhooks: Type.Array(WebhookView), next_cursor: NextCursor });
export const DeliveryList = Type.Object({
  deliveries: Type.Array(DeliveryView),
  next_cursor: NextCursor,
});
export const DeliveryAnswer = Type.Object({ delivery: DeliveryView });
export const DeliveryDetail = Type.Object({
  delivery: Type.Object({
    ...DeliveryView.properties,
    attempt_history: Type.Array(AttemptView, { description: 'In order.' }),
  }),
});
export const SecretRotated = Type.Object({
  secret: Type.String({ description: 'The new signing secret, shown this once.' }),
  previous_secret_expires_at: Timestamp,
});
/** No body at all sends a `webhook.test`. */
export const TestWebhook = Nullable(Body({ event: Type.Optional(Type.String({ enum: eventTypes })) }));
export const TestResult = Type.Object({
  success: Type.Boolean({ description: 'Whether the receiver answered 2xx.' }),
  status_code: Type.Integer({ description: 'The receiver’s status; 0 where nobody answered.' }),
  duration_ms: Type.Integer(),
  delivery_id: Id('delivery'),
  error: Type.Optional(Type.String({ examples: ['connection refused'] })),
});
export const EventTypes = Type.Object({ events: Type.Array(Type.String(), { examples: [eventTypes] }) });

export function toWebhookView(webhook: Webhook): Static<typeof WebhookView> {
  return {
    id: webhook.id,
    name: webhook.name,
    url: webhook.url,
    events: [...webhook.events],
    is_active: webhook.isActive,
    max_retries: webhook.maxRetries,
    consecutive_fails: webhook.consecutiveFails,
    created_at: toTimestamp(webhook.createdAt),
  };
}

export function toDeliveryView(delivery: Delivery): Static<typeof DeliveryView> {
  return {
    id: delivery.id,
    event: delivery.eventType,
    event_id: delivery.eventId,
    status: delivery.status,
    attempts: delivery.attempts,
    max_attempts: delivery.maxAttempts,
    last_attempt_at: toTimestampOrNull(delivery.lastAttemptAt),
    next_attempt_at: toTimestampOrNull(delivery.nextAttemptAt),
    failure_reason: delivery.failureReason,
    created_at: toTimestamp(delivery.createdAt),
  };
}

export function toAttemptView(attempt: DeliveryAttempt): Static<typeof AttemptView> {
  return {
    attempt: attempt.attempt,
    started_at: toTimestamp(attempt.startedAt),
    duration_ms: attempt.durationMs,
    status_code: attempt.statusCode,
    error: attempt.error,
    response_start: attempt.responseStart,
  };
}

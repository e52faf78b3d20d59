import assert from 'node:assert/strict';
import type { Answer, TestService } from '../harness.ts';
import { until } from '../until.ts';

export interface DeliveryBody {
  id: string;
  event: string;
  event_id: string;
  status: string;
  attempts: number;
  max_attempts: number;
  last_attempt_at: string | null;
  next_attempt_at: string | null;
  failure_reason: string | null;
  created_at: string;
}

/** A webhook over the API, and what a test asks of it. */
export interface Hook {
  id: string;
  path: string;
  secret: string;
  call(method: string, path?: string, json?: unknown): Promise<Answer>;
  read(): Promise<Answer['body']>;
  /** With `consecutive_fails`, which the list shows. */
  fails(): Promise<number>;
  /** Newest first. */
  deliveries(query?: string): Promise<DeliveryBody[]>;
  delivery(id: string): Promise<Answer['body']>;
  /** The newest delivery, once it has that status. */
  newest(status: string): Promise<DeliveryBody>;
  /** Moves the clock to the newest delivery's next attempt, until that has been made. */
  retry(): Promise<DeliveryBody>;
}

export async function createHook(
  service: TestService,
  input: { url: string; events?: string[]; max_retries?: number; name?: string },
): Promise<Hook> {
  const json = { name: 'hook', ...input };
  const created = await service.call('POST', '/api/webhooks', { admin: true, json });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const { id } = created.body.webhook;
  const path = `/api/webhooks/${id}`;
  const call: Hook['call'] = (method, below = '', body) =>
    service.call(method, path + below, { admin: true, ...(body !== undefined && { json: body }) });
  const newestOf = async (): Promise<DeliveryBody> =>
    (await hook.deliveries('?limit=1'))[0] ?? assert.fail('there is no delivery');

  const hook: Hook = {
    id,
    path,
    secret: created.body.secret,
    call,
    read: async () => (await call('GET')).body.webhook,
    async fails() {
      const { body } = await service.call('GET', '/api/webhooks', { admin: true });
      return body.webhooks.find((webhook: { id: string }) => webhook.id === id).consecutive_fails;
    },
    deliveries: async (query = '') => (await call('GET', `/deliveries${query}`)).body.deliveries,
    delivery: async (deliveryId) => (await call('GET', `/deliveries/${deliveryId}`)).body.delivery,
    async newest(status) {
      await until(`a delivery that is ${status}`, async () => {
        const [delivery] = await hook.deliveries('?limit=1');
        return delivery?.status === status;
      });
      return newestOf();
    },
    async retry() {
      const before = await hook.newest('retrying');
      service.clock.advanceTo(Date.parse(before.next_attempt_at ?? ''));
      await until('the next attempt', async () => {
        const { attempt_history: history } = await hook.delivery(before.id);
        return history.length > before.attempts;
      });
      return newestOf();
    },
  };
  return hook;
}

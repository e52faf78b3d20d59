import type { TestService } from '../harness.ts';

export interface WrittenEvent {
  id: string;
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

export interface Subscriber {
  id: string;
  secret: string;
  /** What was written for the webhook while `act` ran, oldest first. */
  eventsOf(act: () => Promise<unknown>): Promise<WrittenEvent[]>;
}

/** Refuses every connection at once, so that what is sent there only waits. */
const NOBODY = 'http://127.0.0.1:1/';

/** A webhook, and what the outbox writes for it. Where no events are named, it hears all. */
export async function subscribe(service: TestService, ...events: string[]): Promise<Subscriber> {
  const json = { name: 'subscriber', url: NOBODY, events };
  const { body } = await service.call('POST', '/api/webhooks', { admin: true, json });
  const { id } = body.webhook;
  return {
    id,
    secret: body.secret,
    async eventsOf(act) {
      const before = new Set(await deliveriesOf(service, id));
      await act();
      const after = await deliveriesOf(service, id);
      const written = after.filter((eventId) => !before.has(eventId)).toReversed();
      return readEvents(service, written);
    },
  };
}

export async function deliveriesOf(service: TestService, webhookId: string): Promise<string[]> {
  const { body } = await service.call('GET', `/api/webhooks/${webhookId}/deliveries`, { admin: true });
  return body.deliveries.map((delivery: { event_id: string }) => delivery.event_id);
}

/** The events of these ids, as the table holds them. */
async function readEvents(service: TestService, ids: readonly string[]): Promise<WrittenEvent[]> {
  const payloads = new Map((await allEvents(service)).map((event) => [event.id, event]));
  return ids.map((id) => {
    const event = payloads.get(id);
    if (event === undefined) throw new Error(`there is a delivery of ${id}, but no such event`);
    return event;
  });
}

export async function allEvents({ query }: TestService): Promise<WrittenEvent[]> {
  const rows = await query('select payload from events order by id');
  return rows.map((row) => JSON.parse(String(row['payload'])) as WrittenEvent);
}

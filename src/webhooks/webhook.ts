import { type EventType, eventTypes } from '../events/event.ts';

/** Who is told of events. Times are milliseconds since the Unix epoch. */
export interface Webhook {
  id: string;
  name: string;
  url: string;
  /** `*` alone means all types, those of later versions included. */
  events: readonly string[];
  isActive: boolean;
  /** The most attempts per delivery, the first one included. */
  maxRetries: number;
  /** Deliveries that ended dead, in a row. */
  consecutiveFails: number;
  /** Attempts that failed, in a row. */
  failingAttempts: number;
  /** The signing secret, sealed with the master key. */
  sealedSecret: string;
  /** The one before, which signs too until its time is over. */
  previousSecret: { sealed: string; expiresAt: number } | null;
  lastSuccessAt: number | null;
  deactivatedAt: number | null;
  createdAt: number;
}

export const ALL_EVENTS = '*';
export const DEFAULT_MAX_RETRIES = 10;

/** A missing or empty list, and `*` anywhere in it, mean all events. */
export function normalizeEvents(events: readonly string[] | undefined): string[] {
  if (events === undefined || events.length === 0 || events.includes(ALL_EVENTS)) return [ALL_EVENTS];
  return eventTypes.filter((type) => events.includes(type));
}

export const subscribesTo = (events: readonly string[], type: EventType): boolean =>
  events.includes(ALL_EVENTS) || events.includes(type);

/** Why a URL cannot receive events, as a sentence, or null where it can. */
export function problemOfUrl(url: string): string | null {
  if (!URL.canParse(url)) return 'url: it is not a URL.';
  const { protocol, username, password } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') return 'url: its scheme must be http or https.';
  return username === '' && password === '' ? null : 'url: it must not hold a user name or password.';
}

const PROBING_FROM_FAILURES = 5;

/** A receiver that keeps failing is asked by one request at a time whether it is back. */
export const isProbed = (webhook: Pick<Webhook, 'failingAttempts'>): boolean =>
  webhook.failingAttempts >= PROBING_FROM_FAILURES;

const DEAD_IN_A_ROW = 10;
const WITHOUT_SUCCESS_MILLISECONDS = 24 * 3_600_000;

/** Whether a receiver has failed for so long that nothing more is sent to it. */
export function isGivenUp(webhook: Webhook, now: number): boolean {
  const lastGood = webhook.lastSuccessAt ?? webhook.createdAt;
  return webhook.consecutiveFails >= DEAD_IN_A_ROW && lastGood <= now - WITHOUT_SUCCESS_MILLISECONDS;
}

/** What the secrets of a webhook are sealed for. */
export const secretContext = (webhookId: string): string => `webhooks/${webhookId}`;

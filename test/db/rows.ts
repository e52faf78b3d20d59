import type { Agent } from '../../src/agents/agent.ts';
import { insertAgent } from '../../src/agents/agents.store.ts';
import { insertSecret } from '../../src/agents/secrets.store.ts';
import type { Database } from '../../src/db/database.ts';
import type { Happening } from '../../src/events/outbox.ts';
import { createIds, digestSecret, type SecretDigest } from '../../src/ids.ts';
import type { NewGrant, NewRefreshToken, PublishAll, RefreshClaim } from '../../src/oauth/tokens.store.ts';
import type { Organization, Team } from '../../src/organizations/organization.ts';
import { type Delivery, insertDelivery } from '../../src/webhooks/deliveries.store.ts';
import type { Webhook } from '../../src/webhooks/webhook.ts';
import { insertWebhook } from '../../src/webhooks/webhooks.store.ts';
import { TestClock } from '../clock.ts';

/** Domain objects for the stores, complete and each with an identifier of its own. */

export const NOW = 1_800_000_000_000;
export const ids = createIds(new TestClock());

export const anAgent = (changes: Partial<Agent> = {}): Agent => ({
  id: ids.newId('agent'),
  clientId: ids.newId('cid'),
  name: 'importer',
  scopes: ['read', 'write'],
  isActive: true,
  organizationId: null,
  teamId: null,
  expiresAt: null,
  tokenEpoch: 0,
  tokenCount: 0,
  refreshCount: 0,
  lastActivityAt: null,
  createdAt: NOW,
  ...changes,
});

export const anOrganization = (changes: Partial<Organization> = {}): Organization => {
  const id = ids.newId('org');
  return {
    id,
    name: 'Acme',
    slug: id.replace('_', '-'),
    ownerEmail: 'owner@acme.test',
    plan: 'free',
    jwtExpirySeconds: null,
    createdAt: NOW,
    ...changes,
  };
};

export const aTeam = (organizationId: string, changes: Partial<Team> = {}): Team => ({
  id: ids.newId('team'),
  organizationId,
  name: 'Payments',
  description: 'who pays',
  createdAt: NOW,
  ...changes,
});

export const aWebhook = (changes: Partial<Webhook> = {}): Webhook => ({
  id: ids.newId('webhook'),
  name: 'audit',
  url: 'https://receiver.test/events',
  events: ['agent.created'],
  isActive: true,
  maxRetries: 10,
  consecutiveFails: 0,
  failingAttempts: 0,
  sealedSecret: 'v1.sealed',
  previousSecret: null,
  lastSuccessAt: null,
  deactivatedAt: null,
  createdAt: NOW,
  ...changes,
});

export const aDelivery = (webhookId: string, changes: Partial<Delivery> = {}): Delivery => ({
  id: ids.newId('delivery'),
  webhookId,
  eventId: ids.newId('evt'),
  eventType: 'agent.created',
  status: 'pending',
  attempts: 0,
  maxAttempts: 3,
  lastAttemptAt: null,
  nextAttemptAt: NOW,
  failureReason: null,
  createdAt: NOW,
  ...changes,
});

export const aDigest = (): SecretDigest => digestSecret(ids.newClientSecret());

export const aRefreshToken = (changes: Partial<NewRefreshToken> = {}): NewRefreshToken => ({
  clientSecretId: 1,
  digest: aDigest(),
  grantId: ids.newSortable(),
  sequence: 0,
  tokenEpoch: 0,
  scopes: ['read'],
  expiresAt: NOW + 1_000_000,
  ...changes,
});

export const aGrant = (agentId: string, changes: Partial<NewGrant> = {}): NewGrant => ({
  agentId,
  now: NOW,
  usedSecret: null,
  refreshToken: null,
  happening: null,
  ...changes,
});

export const aClaim = (
  claimed: { id: number; agentId: string; token: NewRefreshToken },
  changes: Partial<RefreshClaim> = {},
): RefreshClaim => ({
  id: claimed.id,
  agentId: claimed.agentId,
  now: NOW,
  successor: { ...claimed.token, digest: aDigest(), sequence: claimed.token.sequence + 1 },
  rememberUntil: NOW + 2_000_000,
  happening: null,
  ...changes,
});

/** A token that was issued, to be told from others by its identifier. */
export const anIssue = (tokenId: string): Happening => ({
  type: 'token.issued',
  data: {
    agent_id: 'agent',
    agent_name: 'importer',
    client_id: 'cid',
    organization_id: null,
    grant_type: 'client_credentials',
    token_id: tokenId,
    scope: 'read',
    expires_at: '2027-01-15T08:00:00.000Z',
  },
});

export const tellNobody: PublishAll = async () => {};

/** Writes an event for each token that was issued, named by the token. */
export const writeEvents: PublishAll = async (tx, happenings) => {
  for (const { type, data } of happenings) {
    const id = 'token_id' in data ? String(data.token_id) : type;
    await tx.insertInto('events').values({ id, type, payload: '{}', created_at: NOW }).execute();
  }
};

/** An agent in the database, with one secret. */
export async function storeAgent(database: Database, changes: Partial<Agent> = {}): Promise<Agent> {
  const agent = anAgent(changes);
  await database.transaction(async (tx) => {
    await insertAgent(tx, agent);
    await insertSecret(tx, { agentId: agent.id, digest: aDigest(), createdAt: NOW });
  });
  return agent;
}

export async function storeWebhook(database: Database, changes: Partial<Webhook> = {}): Promise<Webhook> {
  const webhook = aWebhook(changes);
  await database.transaction((tx) => insertWebhook(tx, webhook));
  return webhook;
}

/** A delivery in the database, with its event. */
export async function storeDelivery(
  database: Database,
  webhookId: string,
  changes: Partial<Delivery> = {},
): Promise<Delivery> {
  const delivery = aDelivery(webhookId, changes);
  const { eventId: id, eventType: type, createdAt: created_at } = delivery;
  await database.transaction(async (tx) => {
    await tx
      .insertInto('events')
      .values({ id, type, payload: payloadOf(delivery), created_at })
      .execute();
    await insertDelivery(tx, delivery);
  });
  return delivery;
}

export const payloadOf = ({ eventId, eventType }: Pick<Delivery, 'eventId' | 'eventType'>): string =>
  JSON.stringify({ id: eventId, type: eventType });

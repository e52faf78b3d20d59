import assert from 'node:assert/strict';
import type { Answer, TestAgent, TestService } from '../harness.ts';

export const credentialsOf = (agent: TestAgent) => ({
  client_id: agent.clientId,
  client_secret: agent.clientSecret,
});

export const clientCredentials = (agent: TestAgent) => ({
  grant_type: 'client_credentials',
  ...credentialsOf(agent),
});

export const requestToken = (service: TestService, agent: TestAgent, more: object = {}): Promise<Answer> =>
  service.call('POST', '/oauth/token', { json: { ...clientCredentials(agent), ...more } });

export const refresh = (service: TestService, refreshToken: string, more: object = {}): Promise<Answer> =>
  service.call('POST', '/oauth/refresh', {
    json: { grant_type: 'refresh_token', refresh_token: refreshToken, ...more },
  });

export const revoke = (service: TestService, token: string): Promise<Answer> =>
  service.call('POST', '/oauth/revoke', { json: { token } });

export const act = (service: TestService, agent: TestAgent, action: string, more: object = {}) =>
  service.call('POST', `/api/agents/${agent.id}`, { admin: true, json: { action, ...more } });

export const change = (service: TestService, agent: TestAgent, json: object): Promise<Answer> =>
  service.call('PUT', `/api/agents/${agent.id}`, { admin: true, json });

export async function createOrganization(service: TestService, changes: object = {}): Promise<string> {
  const json = { name: 'Acme', slug: `acme-${crypto.randomUUID()}`, owner_email: 'owner@acme.test' };
  const { body } = await service.call('POST', '/api/organizations', { admin: true, json });
  await service.call('PUT', `/api/organizations/${body.id}`, {
    admin: true,
    json: { name: 'Acme', ...changes },
  });
  return body.id;
}

export async function countsOf(service: TestService, agent: TestAgent) {
  const { body } = await service.call('GET', `/api/agents/${agent.id}`, { admin: true });
  return { tokens: body.agent.token_count, refreshes: body.agent.refresh_count };
}

export function assertRefused(answer: Answer, status: number, error: string): void {
  assert.deepEqual([answer.status, answer.body.error], [status, error], JSON.stringify(answer.body));
  assert.match(answer.body.error_description, /\w.*\.$/s);
}

/** Holds for access and refresh tokens; `null` stands for an active one. */
export async function assertReason(
  service: TestService,
  token: string,
  reason: string | null,
  message?: string,
): Promise<void> {
  const body = await service.introspect(token);
  const { active, ...rest } = body;
  const expected = reason === null ? { active: true } : { active: false, reason };
  assert.deepEqual({ message, active, ...(reason !== null && rest) }, { message, ...expected });
}

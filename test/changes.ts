import assert from 'node:assert/strict';
import { type Answer, send } from './harness.ts';

/** One agent as its caller knows it: what was acknowledged, and what is under way and so may or may not be done. */
export interface Known {
  id: string;
  clientId: string;
  secret: string;
  endedSecrets: string[];
  isRotating: boolean;
  used: string[];
  revoked: string[];
}

/** Takes an answer that must have this status, and hands its body on; throws where nothing was acknowledged. */
export type Take = (request: Promise<Answer>, status: number) => Promise<Answer['body']>;

/** Every kind of change in turn, to a new agent; `url` is asked anew for each request. */
export async function changeEverything(url: () => string, known: Known[], take: Take): Promise<void> {
  const agent = await createAgent(url(), known, take);
  const first = await take(askForToken(url(), agent, agent.secret), 200);
  const second = await take(useRefreshToken(url(), first.refresh_token), 200);
  agent.used.push(first.refresh_token);
  await take(send(url(), 'POST', '/oauth/revoke', { json: { token: second.access_token } }), 200);
  agent.revoked.push(second.access_token);
  await rotate(url(), agent, take);
}

async function createAgent(url: string, known: Known[], take: Take): Promise<Known> {
  const request = send(url, 'POST', '/api/agents', { admin: true, json: { name: 'changing' } });
  const { agent, client_id, client_secret } = await take(request, 201);
  const created = {
    id: agent.id,
    clientId: client_id,
    secret: client_secret,
    endedSecrets: [],
    isRotating: false,
    used: [],
    revoked: [],
  };
  known.push(created);
  return created;
}

async function rotate(url: string, agent: Known, take: Take): Promise<void> {
  agent.isRotating = true;
  const path = `/api/agents/${agent.id}`;
  const request = send(url, 'POST', path, { admin: true, json: { action: 'rotate' } });
  const { client_secret } = await take(request, 200);
  agent.endedSecrets.push(agent.secret);
  agent.secret = client_secret;
  agent.isRotating = false;
}

export const askForToken = (url: string, { clientId }: Pick<Known, 'clientId'>, secret: string) =>
  send(url, 'POST', '/oauth/token', {
    json: { grant_type: 'client_credentials', client_id: clientId, client_secret: secret },
  });

export const useRefreshToken = (url: string, token: string) =>
  send(url, 'POST', '/oauth/refresh', { json: { grant_type: 'refresh_token', refresh_token: token } });

/** Whatever was acknowledged of an agent is there. */
export async function assertKept(url: string, agent: Known): Promise<void> {
  const read = await send(url, 'GET', `/api/agents/${agent.id}`, { admin: true });
  assert.equal(read.body.agent?.client_id, agent.clientId);
  for (const secret of agent.endedSecrets) {
    assert.equal((await askForToken(url, agent, secret)).body.error, 'invalid_client');
  }
  if (!agent.isRotating) assert.equal((await askForToken(url, agent, agent.secret)).status, 200);
  for (const token of agent.revoked) {
    const { body } = await send(url, 'POST', '/oauth/introspect', { form: { token } });
    assert.deepEqual(body, { active: false, reason: 'revoked' });
  }
  for (const token of agent.used) {
    assert.equal((await useRefreshToken(url, token)).body.error, 'invalid_grant');
  }
}

/** Not in vain: some of each kind was acknowledged. */
export function assertEveryKind(known: readonly Known[]): void {
  for (const kind of ['used', 'revoked', 'endedSecrets'] as const) {
    assert.ok(
      known.some((agent) => agent[kind].length > 0),
      `nothing acknowledged: ${kind}`,
    );
  }
}

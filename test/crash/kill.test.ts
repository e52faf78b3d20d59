import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { adminEnv, type Child, childFolder, startChild } from '../child.ts';
import { type Answer, freePort, send } from '../harness.ts';

const ROUNDS = 3;
const CALLERS = 6;
/** After so many acknowledged changes the process is killed, wherever the callers are. */
const CHANGES = 60;

/** One agent as its caller knows it: what was acknowledged, and what is under way and so may or may not be done. */
interface Known {
  id: string;
  clientId: string;
  secret: string;
  endedSecrets: string[];
  isRotating: boolean;
  used: string[];
  revoked: string[];
}

const folder = childFolder();
after(() => folder.remove());

/** Counts what is acknowledged and kills the process at the right time. */
interface Round {
  child: Child;
  known: Known[];
  acknowledged: number;
}

async function acknowledged(round: Round, request: Promise<Answer>, status: number): Promise<Answer['body']> {
  const answer = await request;
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  round.acknowledged += 1;
  if (round.acknowledged === CHANGES) round.child.process.kill('SIGKILL');
  return answer.body;
}

async function createAgent(round: Round): Promise<Known> {
  const request = send(round.child.url, 'POST', '/api/agents', { admin: true, json: { name: 'crash' } });
  const { agent, client_id, client_secret } = await acknowledged(round, request, 201);
  const known = {
    id: agent.id,
    clientId: client_id,
    secret: client_secret,
    endedSecrets: [],
    isRotating: false,
    used: [],
    revoked: [],
  };
  round.known.push(known);
  return known;
}

const askForToken = (url: string, { clientId }: Known, secret: string) =>
  send(url, 'POST', '/oauth/token', {
    json: { grant_type: 'client_credentials', client_id: clientId, client_secret: secret },
  });

const useRefreshToken = (url: string, token: string) =>
  send(url, 'POST', '/oauth/refresh', { json: { grant_type: 'refresh_token', refresh_token: token } });

/** Every kind of change in turn, until the process is gone. */
async function caller(round: Round): Promise<void> {
  const { url } = round.child;
  for (;;) {
    const agent = await createAgent(round);
    const first = await acknowledged(round, askForToken(url, agent, agent.secret), 200);
    const second = await acknowledged(round, useRefreshToken(url, first.refresh_token), 200);
    agent.used.push(first.refresh_token);
    const json = { token: second.access_token };
    await acknowledged(round, send(url, 'POST', '/oauth/revoke', { json }), 200);
    agent.revoked.push(second.access_token);
    await rotate(round, agent);
  }
}

async function rotate(round: Round, agent: Known): Promise<void> {
  agent.isRotating = true;
  const path = `/api/agents/${agent.id}`;
  const request = send(round.child.url, 'POST', path, { admin: true, json: { action: 'rotate' } });
  const { client_secret } = await acknowledged(round, request, 200);
  agent.endedSecrets.push(agent.secret);
  agent.secret = client_secret;
  agent.isRotating = false;
}

/** Runs until the process dies; what the callers then meet is the broken connection and nothing else. */
async function driveUntilKilled(child: Child): Promise<Known[]> {
  const round: Round = { child, known: [], acknowledged: 0 };
  const ends = await Promise.allSettled(Array.from({ length: CALLERS }, () => caller(round)));
  for (const end of ends) {
    assert.ok(end.status === 'rejected' && end.reason instanceof TypeError, String(Object.values(end)));
  }
  assert.equal((await child.exited).signal, 'SIGKILL');
  assert.ok(round.acknowledged >= CHANGES);
  return round.known;
}

async function assertKept(url: string, agent: Known): Promise<void> {
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

test(`kill -9 amid concurrent changes, ${ROUNDS} times: whatever was acknowledged is there`, async () => {
  const port = await freePort();
  const known: Known[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const killed = await startChild({ folder, port, env: adminEnv });
    known.push(...(await driveUntilKilled(killed)));
    const { url, kill } = await startChild({ folder, port, env: adminEnv });
    for (const agent of known) await assertKept(url, agent);
    assert.equal((await kill('SIGTERM')).code, 0);
  }
  const counts = { used: 0, revoked: 0, endedSecrets: 0 };
  for (const agent of known) {
    counts.used += agent.used.length;
    counts.revoked += agent.revoked.length;
    counts.endedSecrets += agent.endedSecrets.length;
  }
  assert.ok(Object.values(counts).every((count) => count > 0));
});

import assert from 'node:assert/strict';
import { askForToken, useRefreshToken } from '../changes.ts';
import { send } from '../harness.ts';

/** What one caller knows of an agent that is his alone. Whatever may or may not have happened is in none of it. */
export interface History {
  id: string;
  clientId: string;
  /** null once a rotation was under way and nobody knows which one holds. */
  secret: string | null;
  endedSecrets: string[];
  /** More than one where a change was under way. */
  names: string[];
  tokens: Bounds;
  refreshes: Bounds;
  active: string[];
  revoked: string[];
  /** Of refresh tokens: not used yet, and used. */
  fresh: string[];
  used: string[];
  state: 'there' | 'perhaps' | 'gone';
}

/** How often something was acknowledged, how often it was tried, and what a read has shown. */
interface Bounds {
  acknowledged: number;
  tried: number;
  shown: number;
}

export const newHistory = (
  agent: { id: string; name: string },
  clientId: string,
  secret: string,
): History => ({
  id: agent.id,
  clientId,
  secret,
  endedSecrets: [],
  names: [agent.name],
  tokens: { acknowledged: 0, tried: 0, shown: 0 },
  refreshes: { acknowledged: 0, tried: 0, shown: 0 },
  active: [],
  revoked: [],
  fresh: [],
  used: [],
  state: 'there',
});

/** What ends with a secret, or with all tokens of an agent. */
export function endTokens(history: History): void {
  history.revoked.push(...history.active.splice(0));
  history.fresh.length = 0;
}

/** How many tokens of each kind are asked for each time: the latest, which are what a crash could have lost. */
const LATEST = 6;

/** Holds what the service says against what it has acknowledged before; changes nothing. */
export async function assertConsistent(url: string, history: History): Promise<void> {
  const { status, body } = await send(url, 'GET', `/api/agents/${history.id}`, { admin: true });
  if (status === 404 && history.state !== 'there') history.state = 'gone';
  assert.equal(status, history.state === 'gone' ? 404 : 200, `${history.id}: ${JSON.stringify(body)}`);
  if (history.state !== 'gone') assertShown(history, body.agent);
  for (const token of history.revoked.slice(-LATEST))
    assert.equal(await isActive(url, token), false, 'revived');
  if (history.state !== 'there') return;
  for (const token of history.active.slice(-LATEST)) assert.equal(await isActive(url, token), true, 'lost');
}

function assertShown(history: History, agent: Record<string, unknown>): void {
  const { names, tokens, refreshes } = history;
  assert.equal(agent['client_id'], history.clientId);
  assert.ok(names.includes(String(agent['name'])), `${agent['name']} is none of ${names}`);
  history.names = [String(agent['name'])];
  assertCount('token_count', tokens, Number(agent['token_count']));
  assertCount('refresh_count', refreshes, Number(agent['refresh_count']));
}

function assertCount(what: string, bounds: Bounds, shown: number): void {
  const { acknowledged, tried } = bounds;
  const told = `${what} ${shown}: ${acknowledged} acknowledged, ${tried} tried, ${bounds.shown} shown before`;
  assert.ok(shown >= acknowledged && shown <= tried && shown >= bounds.shown, told);
  bounds.shown = shown;
}

/** The last questions to an agent, which end what is left of it: what was used or has ended works no more. */
export async function assertEnded(url: string, history: History): Promise<void> {
  await assertConsistent(url, history);
  for (const token of history.revoked) assert.equal(await isActive(url, token), false, 'revived');
  for (const secret of history.endedSecrets.slice(-LATEST)) {
    assert.equal((await askForToken(url, history, secret)).body.error, 'invalid_client');
  }
  for (const token of history.used.slice(-LATEST)) {
    assert.equal((await useRefreshToken(url, token)).body.error, 'invalid_grant', 'used twice');
  }
}

export async function isActive(url: string, token: string): Promise<boolean> {
  const { status, body } = await send(url, 'POST', '/oauth/introspect', { form: { token } });
  assert.equal(status, 200, JSON.stringify(body));
  return body.active;
}

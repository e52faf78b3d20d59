import assert from 'node:assert/strict';
import { askForToken, useRefreshToken } from '../changes.ts';
import { type Answer, send } from '../harness.ts';
import { endTokens, type History, isActive, newHistory } from './history.ts';

/** Nothing was acknowledged: the connection broke, or the service said that it cannot. */
export class Unknown extends Error {}

interface Deps {
  url: () => string;
  random: () => number;
  onAcknowledged: (kind: string) => void;
}

const MOST_AGENTS = 6;
/** Of each kind of token; older ones are forgotten, so that a caller stays as small as he was. */
const MOST_KEPT = 40;

/** Changes agents that are his alone, one request after the other, and keeps what was acknowledged to him. */
export class Caller {
  readonly #deps: Deps;
  readonly agents: History[] = [];
  readonly retired: History[] = [];
  readonly created: string[] = [];
  #names = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** One change or question; throws `Unknown` where nobody knows what became of it. */
  async step(): Promise<void> {
    const history = this.#pick(this.agents);
    if (history === undefined || (this.agents.length < MOST_AGENTS && this.#chance(0.1)))
      return this.#create();
    const [kind, run] = this.#choose(history);
    await run.call(this, history);
    this.#deps.onAcknowledged(kind);
    for (const kept of [history.active, history.revoked, history.fresh, history.used]) {
      kept.splice(0, kept.length - MOST_KEPT);
    }
  }

  #choose({ active, fresh, secret }: History): [string, (history: History) => Promise<void>] {
    const dice = this.#deps.random();
    if (secret === null || dice < 0.01) return ['delete', this.#delete];
    if (dice < 0.03) return ['rotate', this.#rotate];
    if (dice < 0.05) return ['revoke all', this.#revokeAll];
    if (dice < 0.12) return ['rename', this.#rename];
    if (dice < 0.24 && active.length > 0) return ['revoke', this.#revoke];
    if (dice < 0.42 && fresh.length > 0) return ['refresh', this.#refresh];
    if (dice < 0.75 && active.length > 0) return ['introspect', this.#introspect];
    return ['token', this.#token];
  }

  async #create(): Promise<void> {
    const name = this.#newName();
    const { agent, client_id, client_secret } = await this.#take(
      201,
      send(this.#deps.url(), 'POST', '/api/agents', { admin: true, json: { name } }),
    );
    this.agents.push(newHistory(agent, client_id, client_secret));
    this.created.push(agent.id);
    this.#deps.onAcknowledged('create');
  }

  async #token(history: History): Promise<void> {
    history.tokens.tried += 1;
    const body = await this.#take(200, askForToken(this.#deps.url(), history, String(history.secret)));
    history.tokens.acknowledged += 1;
    history.active.push(body.access_token);
    history.fresh.push(body.refresh_token);
  }

  async #refresh(history: History): Promise<void> {
    const [token = ''] = history.fresh.splice(this.#index(history.fresh), 1);
    history.tokens.tried += 1;
    history.refreshes.tried += 1;
    const body = await this.#take(200, useRefreshToken(this.#deps.url(), token));
    history.tokens.acknowledged += 1;
    history.refreshes.acknowledged += 1;
    history.active.push(body.access_token);
    history.fresh.push(body.refresh_token);
    history.used.push(token);
  }

  async #revoke(history: History): Promise<void> {
    const [token = ''] = history.active.splice(this.#index(history.active), 1);
    await this.#take(200, send(this.#deps.url(), 'POST', '/oauth/revoke', { json: { token } }));
    history.revoked.push(token);
    assert.equal(await this.#known(isActive(this.#deps.url(), token)), false, 'a revoked token lives');
  }

  async #introspect({ active, revoked }: History): Promise<void> {
    const ask = (token: string | undefined) =>
      token === undefined ? null : this.#known(isActive(this.#deps.url(), token));
    assert.notEqual(await ask(this.#pick(active)), false, 'a living token was lost');
    assert.notEqual(await ask(this.#pick(revoked)), true, 'a revoked token lives');
  }

  async #rename(history: History): Promise<void> {
    const name = this.#newName();
    history.names.push(name);
    await this.#take(200, this.#admin('PUT', history, { name }));
    history.names = [name];
  }

  async #rotate(history: History): Promise<void> {
    const { secret } = history;
    history.secret = null;
    history.fresh.length = 0;
    const body = await this.#take(200, this.#admin('POST', history, { action: 'rotate' }));
    history.secret = body.client_secret;
    if (secret !== null) history.endedSecrets.push(secret);
  }

  async #revokeAll(history: History): Promise<void> {
    const { active } = history;
    history.active = [];
    history.fresh = [];
    await this.#take(200, this.#admin('POST', history, { action: 'revoke_tokens' }));
    history.revoked.push(...active);
  }

  async #delete(history: History): Promise<void> {
    history.state = 'perhaps';
    this.agents.splice(this.agents.indexOf(history), 1);
    this.retired.push(history);
    await this.#take(204, this.#admin('DELETE', history));
    history.state = 'gone';
    endTokens(history);
    history.used.length = 0;
    history.endedSecrets.length = 0;
  }

  #admin(method: string, { id }: History, json?: object): Promise<Answer> {
    const body = json === undefined ? {} : { json };
    return send(this.#deps.url(), method, `/api/agents/${id}`, { admin: true, ...body });
  }

  async #take(status: number, request: Promise<Answer>): Promise<Answer['body']> {
    const answer = await this.#known(request);
    if (answer.status === 503) throw new Unknown('503');
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    return answer.body;
  }

  async #known<T>(request: Promise<T>): Promise<T> {
    return request.catch((error: unknown) => {
      throw error instanceof TypeError ? new Unknown(error.message) : error;
    });
  }

  #newName(): string {
    this.#names += 1;
    return `chaos ${this.#names}`;
  }

  #chance = (part: number): boolean => this.#deps.random() < part;
  #index = (from: readonly unknown[]): number => Math.floor(this.#deps.random() * from.length);
  #pick<T>(from: readonly T[]): T | undefined {
    return from[this.#index(from)];
  }
}

import assert from 'node:assert/strict';
import { adminEnv, type Child, type ChildFolder, childFolder, startChild } from '../child.ts';
import { createPostgres } from '../databases.ts';
import { type Answer, type CallOptions, send, type TestAgent, type TokenSet } from '../harness.ts';
import { type Balancer, startBalancer } from './balancer.ts';

export const INSTANCES = 3;

/** One of several processes on one database. */
export interface Instance {
  child: Child;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** As an administrator, where it must succeed. */
  change(method: string, path: string, json?: unknown): Promise<Answer['body']>;
  createAgent(): Promise<TestAgent>;
  askForToken(agent: TestAgent): Promise<Answer>;
  tokens(agent: TestAgent): Promise<TokenSet>;
  refresh(refreshToken: string): Promise<Answer>;
  introspect(token: string): Promise<Answer['body']>;
}

export interface Scene {
  folder: ChildFolder;
  instances: readonly Instance[];
  balancer: Balancer;
  /** Every way from one instance to another. */
  pairs: ReadonlyArray<readonly [here: Instance, there: Instance]>;
  remove(): Promise<void>;
}

/** Started all at once, on a database in which there is nothing yet. */
export async function startScene(): Promise<Scene> {
  const folder = childFolder(() => createPostgres({ isEmpty: true }));
  const balancer = await startBalancer();
  const env = { ...adminEnv, SIGNET_PUBLIC_URL: balancer.url };
  const children = await Promise.all(Array.from({ length: INSTANCES }, () => startChild({ folder, env })));
  balancer.setTargets(children.map(({ url }) => url));
  const instances = children.map(toInstance);
  return {
    folder,
    instances,
    balancer,
    pairs: instances.flatMap((here) =>
      instances.filter((there) => there !== here).map((there) => [here, there] as const),
    ),
    async remove() {
      await folder.remove();
      await balancer.close();
    },
  };
}

function toInstance(child: Child): Instance {
  const instance: Instance = {
    child,
    call: (method, path, options) => send(child.url, method, path, options),
    async change(method, path, json) {
      const answer = await instance.call(method, path, {
        admin: true,
        ...(json !== undefined && { json }),
      });
      assert.ok(answer.status < 300, `${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    async createAgent() {
      const json = { name: 'anywhere', scopes: ['read', 'write'] };
      const { agent, client_id, client_secret } = await instance.change('POST', '/api/agents', json);
      return { id: agent.id, clientId: client_id, clientSecret: client_secret };
    },
    askForToken({ clientId, clientSecret }) {
      const json = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
      return instance.call('POST', '/oauth/token', { json });
    },
    async tokens(agent) {
      const { status, body } = await instance.askForToken(agent);
      assert.equal(status, 200, JSON.stringify(body));
      return { accessToken: body.access_token, refreshToken: body.refresh_token };
    },
    refresh(refreshToken) {
      const json = { grant_type: 'refresh_token', refresh_token: refreshToken };
      return instance.call('POST', '/oauth/refresh', { json });
    },
    async introspect(token) {
      return (await instance.call('POST', '/oauth/introspect', { form: { token } })).body;
    },
  };
  return instance;
}

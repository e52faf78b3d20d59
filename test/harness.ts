import { rmSync } from 'node:fs';
import { pino } from 'pino';
import { hashPassword } from '../src/admin/password.ts';
import { toConfig } from '../src/config.ts';
import { createIds } from '../src/ids.ts';
import { createService } from '../src/service.ts';
import { TestClock } from './clock.ts';
import { createTestDatabase, type TestDatabase, temporaryFolder } from './databases.ts';
import { freePort } from './free-port.ts';
import { createOpenapiCheck, type OpenapiCheck, type OpenapiDocument } from './openapi-check.ts';
import { storedSigningKey } from './signing-keys.ts';

export const ADMIN = { email: 'admin@signet.test', password: 'correct-horse-battery' };

export interface CallOptions {
  /** Administrator credentials; `true` for the right ones. */
  admin?: true | { email: string; password: string };
  bearer?: string;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent form-encoded. */
  form?: Record<string, string>;
  /** Sent as it is. */
  raw?: { body: string | Uint8Array; contentType: string };
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  headers: Headers;
  /** Parsed JSON; the text where it is not JSON; undefined where there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of answers whose form the schema check has proven
  body: any;
}

export interface TestAgent {
  id: string;
  clientId: string;
  clientSecret: string;
}

export interface TokenSet {
  accessToken: string;
  refreshToken: string;
}

export interface TestService {
  url: string;
  clock: TestClock;
  dataDir: string;
  /** The settings that name its database. */
  databaseEnv: Record<string, string>;
  /** Runs a statement on its database, past the service. */
  query: TestDatabase['query'];
  /** Every line that the service logged, as text. */
  logLines: string[];
  /** Calls the service and holds the answer against its OpenAPI document. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  createAgent(input?: Record<string, unknown>): Promise<TestAgent>;
  tokens(agent: TestAgent, scope?: string): Promise<TokenSet>;
  introspect(token: string): Promise<Answer['body']>;
  /** Stops the service and starts it again: on the same data, or with other settings from then on. */
  restart(changes?: { env?: Record<string, string>; meanwhile?: () => Promise<void> }): Promise<void>;
  stop(): Promise<void>;
}

interface StartOptions {
  /** SIGNET_ settings besides those that every test service has. */
  env?: Record<string, string>;
  clock?: TestClock;
  /** Whether the administrator's password is hashed as it is outside of tests, for those that are about passwords. */
  hasRealHash?: boolean;
}

/** Checked at the start and whenever a test moves the clock by a minute; the real one costs 20 ms of CPU each time. */
const quickHash = (password: string) => hashPassword(password, { memory: 8, passes: 1, parallelism: 1 });

const openapiChecks = new Map<string, OpenapiCheck>();

/** Services with the same settings publish the same document. */
async function openapiCheckOf(url: string, env: object): Promise<OpenapiCheck> {
  const key = JSON.stringify(env);
  const known = openapiChecks.get(key);
  if (known !== undefined) return known;
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenapiDocument;
  const check = createOpenapiCheck(document);
  openapiChecks.set(key, check);
  return check;
}

/** A whole service in this process, on a free port and a folder of its own, with a clock that the test moves. */
export async function startService({
  env = {},
  clock = new TestClock(),
  hasRealHash = false,
}: StartOptions = {}): Promise<TestService> {
  const dataDir = temporaryFolder();
  const database = await createTestDatabase(dataDir);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const logLines: string[] = [];
  const log = pino({ level: 'debug', base: null }, { write: (line: string) => logLines.push(line) });
  let settings: Record<string, string> = {
    SIGNET_PORT: String(port),
    SIGNET_DATA_DIR: dataDir,
    SIGNET_ADMIN_EMAIL: ADMIN.email,
    SIGNET_ADMIN_PASSWORD: ADMIN.password,
    ...database.env,
    ...env,
  };
  const open = async () => {
    const service = await createService(toConfig(settings), {
      clock,
      ids: createIds(clock),
      log,
      generateKey: storedSigningKey,
      ...(!hasRealHash && { hashPassword: quickHash }),
    });
    await service.start();
    return service;
  };
  let service = await open();
  const check = await openapiCheckOf(url, env);

  async function call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const answer = await send(url, method, path, options);
    if (method !== 'HEAD') {
      check({
        method,
        path: path.split('?')[0] ?? path,
        status: answer.status,
        contentType: answer.headers.get('content-type') ?? '',
        body: answer.body,
      });
    }
    return answer;
  }

  return {
    url,
    clock,
    dataDir,
    databaseEnv: database.env,
    query: database.query,
    logLines,
    call,
    async createAgent(input = {}) {
      const json = { name: 'test agent', scopes: ['read', 'write'], ...input };
      const { status, body } = await call('POST', '/api/agents', { admin: true, json });
      if (status !== 201) throw new Error(`creating an agent answered ${status}: ${JSON.stringify(body)}`);
      return { id: body.agent.id, clientId: body.client_id, clientSecret: body.client_secret };
    },
    async tokens(agent, scope) {
      const json = {
        grant_type: 'client_credentials',
        client_id: agent.clientId,
        client_secret: agent.clientSecret,
        ...(scope !== undefined && { scope }),
      };
      const { status, body } = await call('POST', '/oauth/token', { json });
      if (status !== 200) throw new Error(`getting tokens answered ${status}: ${JSON.stringify(body)}`);
      return { accessToken: body.access_token, refreshToken: body.refresh_token };
    },
    async introspect(token) {
      return (await call('POST', '/oauth/introspect', { form: { token } })).body;
    },
    async restart({ env: changes = {}, meanwhile } = {}) {
      await service.stop();
      await meanwhile?.();
      settings = { ...settings, ...changes };
      service = await open();
    },
    async stop() {
      await service.stop();
      await database.remove();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** One request, its answer read whole. */
export async function send(
  url: string,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  const response = await fetch(url + path, { method, ...toInit(options), redirect: 'manual' });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parse(text) };
}

function toInit(options: CallOptions): {
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
} {
  const headers: Record<string, string> = {};
  if (options.admin !== undefined) {
    const { email, password } = options.admin === true ? ADMIN : options.admin;
    headers['authorization'] = basic(email, password);
  }
  if (options.bearer !== undefined) headers['authorization'] = `Bearer ${options.bearer}`;
  const { body, contentType } = toBody(options);
  if (contentType !== null) headers['content-type'] = contentType;
  return { headers: { ...headers, ...options.headers }, ...(body !== null && { body }) };
}

function toBody({ json, form, raw }: CallOptions) {
  if (json !== undefined) return { body: JSON.stringify(json), contentType: 'application/json' };
  if (form !== undefined) {
    return { body: new URLSearchParams(form).toString(), contentType: 'application/x-www-form-urlencoded' };
  }
  if (raw !== undefined) {
    const body = typeof raw.body === 'string' ? raw.body : Uint8Array.from(raw.body);
    return { body, contentType: raw.contentType };
  }
  return { body: null, contentType: null };
}

function parse(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

import { createRemoteJWKSet, jwtVerify } from 'jose';
import { Webhook } from 'standardwebhooks';
import { startDemoReceiver } from './demo-receiver.ts';
import { startDemoService } from './demo-service.ts';

interface Call {
  method: string;
  path: string;
  authorization?: string;
  json?: Record<string, unknown>;
  form?: Record<string, string>;
}

type Answer = Record<string, unknown>;

const SECRETS = ['client_secret', 'access_token', 'refresh_token', 'token', 'secret'];
const SHOWN_CHARACTERS = 12;

const receiver = await startDemoReceiver();
const { url, folder, admin, stop } = await startDemoService();
const asAdministrator = basic(admin.email, admin.password);
try {
  await tour();
} finally {
  await stop();
  receiver.close();
}

async function tour(): Promise<void> {
  say(`Signet runs at ${url}, with its database in ${folder}.`);

  heading('An administrator makes an agent. Its secret is shown this once.');
  const agent = await call(201, {
    method: 'POST',
    path: '/api/agents',
    authorization: asAdministrator,
    json: { name: 'invoice-importer', scopes: ['read', 'write'] },
  });

  heading('The agent trades its credentials for a token.');
  const tokens = await call(200, {
    method: 'POST',
    path: '/oauth/token',
    authorization: basic(text(agent, 'client_id'), text(agent, 'client_secret')),
    form: { grant_type: 'client_credentials' },
  });
  const token = text(tokens, 'access_token');

  heading('A resource server verifies it offline, with nothing but the public keys.');
  await verifyOffline(token);

  heading('Another one asks the service.');
  const living = await introspect(token);
  expect(living['active'] === true, 'the token is active');

  heading('The agent reads what the service knows of it.');
  const readMe = { method: 'GET', path: '/api/agents/me', authorization: `Bearer ${token}` };
  await call(200, readMe);

  heading('The token is revoked.');
  await call(200, { method: 'POST', path: '/oauth/revoke', form: { token } });

  heading('From now on it is dead, by introspection …');
  const dead = await introspect(token);
  expect(dead['active'] === false && dead['reason'] === 'revoked', 'the token is revoked');

  heading('… and wherever it is presented to the service.');
  await call(401, readMe);

  await hearOf(agent);
  say('\nDone. The service stops, and its folder is removed.');
}

async function hearOf(agent: Answer): Promise<void> {
  heading('An administrator wants to be told of new credentials. The signing secret is shown this once.');
  const { secret } = await call(201, {
    method: 'POST',
    path: '/api/webhooks',
    authorization: asAdministrator,
    json: { name: 'audit trail', url: receiver.url, events: ['agent.credentials_rotated'] },
  });

  heading('The agent gets a new secret …');
  await call(200, {
    method: 'POST',
    path: `/api/agents/${text(agent['agent'] as Answer, 'id')}`,
    authorization: asAdministrator,
    json: { action: 'rotate' },
  });

  heading('… and the receiver hears of it.');
  const { headers, body } = await receiver.received;
  const event = new Webhook(String(secret)).verify(body, headers);
  say('standardwebhooks: the signature and the time are right.');
  say(`event ${pretty(event as Answer)}`);
}

async function verifyOffline(token: string): Promise<void> {
  const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', url));
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer: url,
    audience: url,
    typ: 'at+jwt',
    algorithms: ['RS256'],
  });
  say('jose: the signature, the issuer, the audience and the time are right.');
  say(`header ${pretty(protectedHeader)}`);
  say(`claims ${pretty(payload)}`);
}

function introspect(token: string): Promise<Answer> {
  return call(200, { method: 'POST', path: '/oauth/introspect', form: { token } });
}

/** Makes a request and shows it with its answer; any other status than the expected one ends the demo. */
async function call(expectedStatus: number, request: Call): Promise<Answer> {
  showRequest(request);
  const response = await fetch(url + request.path, toInit(request));
  const answer = (await response.json()) as Answer;
  say(`→ ${response.status} ${response.statusText}`);
  say(pretty(answer));
  expect(response.status === expectedStatus, `${request.method} ${request.path} answers ${expectedStatus}`);
  return answer;
}

function toInit({ method, authorization, json, form }: Call): RequestInit {
  return {
    method,
    headers: {
      ...(authorization !== undefined && { authorization }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(form !== undefined && { body: new URLSearchParams(form) }),
  };
}

function showRequest({ method, path, authorization, json, form }: Call): void {
  say(`${method} ${path}`);
  if (authorization !== undefined) {
    const [scheme = '', credentials = ''] = authorization.split(' ');
    say(`authorization: ${scheme} ${shorten(credentials)}`);
  }
  if (json !== undefined) say(pretty(json));
  if (form !== undefined) {
    const fields = Object.entries(form).map(([name, value]) => `${name}=${visible(name, value)}`);
    say(fields.join('&'));
  }
}

function pretty(value: object): string {
  return JSON.stringify(value, visible, 2);
}

function visible(name: string, value: unknown): unknown {
  return SECRETS.includes(name) && typeof value === 'string' ? shorten(value) : value;
}

function shorten(secret: string): string {
  return `${secret.slice(0, SHOWN_CHARACTERS)}…`;
}

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

function text(answer: Answer, name: string): string {
  const value = answer[name];
  if (typeof value !== 'string') throw new Error(`The answer has no ${name}.`);
  return value;
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`It should be so that ${what}, and it is not.`);
}

function heading(title: string): void {
  say(`\n── ${title}\n`);
}

function say(message: string): void {
  process.stdout.write(`${message}\n`);
}

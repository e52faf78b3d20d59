import { createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import OAuth2Server from '@node-oauth/oauth2-server';
import { type PeerSetup, serve, tokenShape } from './serve.ts';

/**
 * `@node-oauth/oauth2-server` with the model that its documentation describes, in memory, on Node's own HTTP server.
 * How a token is made is left to the model: here the fastest way that Node has.
 */
serve(async ({ port, origin, clients }: PeerSetup) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { lifetimeSeconds } = tokenShape(origin);
  const oauth = new OAuth2Server({
    model: createModel({ origin, clients, privateKey }),
    accessTokenLifetime: lifetimeSeconds,
  });
  const publicJwk = { ...createPublicKey(privateKey).export({ format: 'jwk' }), kid: KID, alg: 'RS256' };
  const server = createServer((request, response) => {
    if (request.method === 'GET') return answer(response, 200, { keys: [publicJwk] });
    issue(oauth, request, response).catch(() => answer(response, 500, { error: 'server_error' }));
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
});

const KID = 'bench';
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const HEADER = encode({ alg: 'RS256', typ: 'at+jwt', kid: KID });

async function issue(oauth: OAuth2Server, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = Object.fromEntries(new URLSearchParams(await text(request)));
  const { method = '', headers } = request;
  const asked = new OAuth2Server.Request({
    method,
    headers: headers as Record<string, string>,
    query: {},
    body,
  });
  const answered = new OAuth2Server.Response();
  await oauth.token(asked, answered).catch(() => {});
  answer(response, answered.status ?? 500, answered.body, answered.headers);
}

function answer(response: ServerResponse, status: number, body: object, headers: object = {}): void {
  response.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function createModel({
  origin,
  clients,
  privateKey,
}: Pick<PeerSetup, 'origin' | 'clients'> & {
  privateKey: KeyObject;
}): OAuth2Server.ClientCredentialsModel {
  const known = new Map(clients.map((client) => [client.clientId, client]));
  const stored = new Map<string, OAuth2Server.Token>();
  return {
    async getClient(clientId, clientSecret) {
      const isKnown = known.get(clientId)?.clientSecret === clientSecret;
      return isKnown ? { id: clientId, grants: ['client_credentials'] } : undefined;
    },
    getUserFromClient: async ({ id }) => ({ id }),
    validateScope: async (_user, _client, scope) => scope,
    generateAccessToken: ({ id }, _user, scope) =>
      mint({ ...claimsOf(origin, id), scope: scope?.join(' ') }, privateKey),
    async saveToken(token, client, user) {
      const saved = { ...token, client, user };
      stored.set(token.accessToken, saved);
      return saved;
    },
    getAccessToken: async (accessToken) => stored.get(accessToken),
  };
}

function claimsOf(origin: string, clientId: string) {
  const { audience, lifetimeSeconds } = tokenShape(origin);
  const iat = Math.floor(Date.now() / 1000);
  const times = { iat, exp: iat + lifetimeSeconds };
  return { iss: origin, aud: audience, sub: clientId, client_id: clientId, ...times, jti: randomUUID() };
}

function mint(claims: object, key: KeyObject): Promise<string> {
  const signingInput = `${HEADER}.${encode(claims)}`;
  return new Promise((resolve, reject) => {
    sign('sha256', Buffer.from(signingInput), key, (error, signature) => {
      if (error) reject(error);
      else resolve(`${signingInput}.${signature.toString('base64url')}`);
    });
  });
}

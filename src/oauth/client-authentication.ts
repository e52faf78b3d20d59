import { isUsable } from '../agents/agent.ts';
import { parseBasicCredentials } from '../basic-credentials.ts';
import type { Clock } from '../clock.ts';
import { invalidClient, invalidRequest } from '../errors.ts';
import { digestSecret, isSameDigest, type SecretDigest } from '../ids.ts';
import { decodeFormValue } from './form.ts';
import type { Client, ClientSecretRow, Tokens } from './tokens.store.ts';

/** RFC 6749 §2.3: how a request names and proves its client. */
export interface ClientCredentials {
  clientId: string;
  clientSecret: string;
  usedBasic: boolean;
}

export interface AuthenticationInput {
  authorization: string | undefined;
  body: { client_id?: string | undefined; client_secret?: string | undefined };
}

export interface AuthenticatedClient {
  client: Client;
  secret: ClientSecretRow;
}

/** The credentials of a request, or null where it carries none. RFC 6749 §2.3: never more than one method. */
export function readClientCredentials({
  authorization,
  body,
}: AuthenticationInput): ClientCredentials | null {
  if (authorization === undefined) return readFromBody(body);
  if (body.client_secret !== undefined) {
    throw invalidRequest('Send the client secret in the Authorization header or in the body, not in both.');
  }
  const credentials = parseBasic(authorization);
  if (body.client_id !== undefined && body.client_id !== credentials.clientId) {
    throw invalidRequest('client_id: it is not the client of the Authorization header.');
  }
  return credentials;
}

export async function authenticateClient(
  deps: { tokens: Tokens; clock: Clock },
  input: AuthenticationInput,
): Promise<AuthenticatedClient> {
  const credentials = readClientCredentials(input);
  if (credentials === null) {
    throw invalidRequest(
      'client_id: send it with client_secret, in the body or by HTTP Basic authentication.',
    );
  }
  return authenticate(deps, credentials);
}

/** RFC 7662 §2.3 and RFC 7009 §2.1 with RFC 6749 §5.2: a caller without credentials is refused as one with wrong ones is. */
export async function authenticateCaller(
  deps: { tokens: Tokens; clock: Clock },
  input: AuthenticationInput,
): Promise<Client> {
  const credentials = readClientCredentials(input);
  if (credentials === null) throw invalidClient(false);
  return (await authenticate(deps, credentials)).client;
}

/** An unknown client costs what a wrong secret costs: one look-up, one digest and one comparison. */
export async function authenticate(
  deps: { tokens: Tokens; clock: Clock },
  credentials: ClientCredentials,
): Promise<AuthenticatedClient> {
  const now = deps.clock.now();
  const client = await deps.tokens.findClient({ clientId: credentials.clientId, now });
  const digest = digestSecret(credentials.clientSecret);
  const secret = matchingSecret(client?.secrets ?? [], digest);
  if (client === null || secret === null || !isUsable(client, now))
    throw invalidClient(credentials.usedBasic);
  return { client, secret };
}

const NO_SECRET: ClientSecretRow = { id: 0, digest: digestSecret(''), expiresAt: null, lastUsedAt: null };

/** Compares with every secret, so that the time does not tell which one matched. */
function matchingSecret(secrets: readonly ClientSecretRow[], digest: SecretDigest): ClientSecretRow | null {
  let match: ClientSecretRow | null = null;
  for (const secret of secrets.length === 0 ? [NO_SECRET] : secrets) {
    if (isSameDigest(secret.digest, digest)) match = secret;
  }
  return match === NO_SECRET ? null : match;
}

function readFromBody(body: AuthenticationInput['body']): ClientCredentials | null {
  const { client_id: clientId, client_secret: clientSecret } = body;
  if (clientId === undefined && clientSecret === undefined) return null;
  if (clientId === undefined) throw invalidRequest('client_id: it is missing.');
  if (clientSecret === undefined) throw invalidRequest('client_secret: it is missing.');
  return { clientId, clientSecret, usedBasic: false };
}

/** RFC 6749 §2.3.1: both parts are form-encoded before they are joined. */
function parseBasic(authorization: string): ClientCredentials {
  const credentials = parseBasicCredentials(authorization);
  const clientId = credentials === null ? null : decodeFormValue(credentials.userId);
  const clientSecret = credentials === null ? null : decodeFormValue(credentials.password);
  if (clientId === null || clientSecret === null) throw invalidClient(true);
  return { clientId, clientSecret, usedBasic: true };
}

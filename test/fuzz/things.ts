import { ADMIN, basic, send } from '../harness.ts';
import type { FuzzRequest } from './requests.ts';
import type { Place } from './values.ts';

/** What exists while a few dozen requests are made; made anew for each of these rounds, so that a round stands alone. */
export type Things = Record<Place, string>;

export async function makeThings(url: string): Promise<Things> {
  const create = async (path: string, json: object) =>
    (await send(url, 'POST', path, { admin: true, json })).body;
  const post = async (path: string, json: object) => (await send(url, 'POST', path, { json })).body;
  const slug = `fuzz-${crypto.randomUUID()}`;
  const organization = await create('/api/organizations', {
    name: 'fuzz',
    slug,
    owner_email: 'owner@fuzz.test',
  });
  const team = await create(`/api/organizations/${organization.id}/teams`, { name: 'fuzz' });
  const { webhook } = await create('/api/webhooks', { name: 'fuzz', url: 'http://127.0.0.1:1/' });
  const agent = await create('/api/agents', {
    name: 'fuzz',
    organization_id: organization.id,
    scopes: ['read', 'write'],
  });
  const { client_id: clientId, client_secret: clientSecret } = agent;
  const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const [used, held] = [await post('/oauth/token', grant), await post('/oauth/token', grant)];
  await post('/oauth/revoke', { token: used.refresh_token });
  const { body } = await send(url, 'GET', `/api/webhooks/${webhook.id}/deliveries?limit=1`, { admin: true });
  return {
    agent: agent.agent.id,
    organization: organization.id,
    team: team.id,
    webhook: webhook.id,
    delivery: body.deliveries[0].id,
    clientId,
    clientSecret,
    accessToken: held.access_token,
    refreshToken: held.refresh_token,
    usedToken: used.refresh_token,
  };
}

/** So that the lists that are read stay short, however long this goes on. */
export async function removeAll(url: string): Promise<void> {
  for (const list of ['webhooks', 'organizations', 'agents', 'administrators']) {
    const { body } = await send(url, 'GET', `/api/${list}`, { admin: true });
    for (const { id, email } of body[list]) {
      if (email !== ADMIN.email) await send(url, 'DELETE', `/api/${list}/${id}`, { admin: true });
    }
  }
}

export const secretsOf = ({ clientSecret, accessToken, refreshToken, usedToken }: Things): string[] => [
  ADMIN.password,
  clientSecret,
  accessToken,
  refreshToken,
  usedToken,
];

const PLACE = /\{\{(\w+)\}\}(?:!(\w+):(\d+)!)?/g;

/** The request with what exists in its places. */
export function fillIn(request: FuzzRequest, things: Things): FuzzRequest {
  const fill = (text: string): string =>
    text.replace(PLACE, (whole, name: string, how: string | undefined, at: string) => {
      const thing = (things as Record<string, string>)[name];
      if (thing === undefined) return whole;
      return how === undefined ? thing : mutate(thing, how, Number(at));
    });
  const authorization = request.headers['authorization'];
  return {
    ...request,
    path: printable(fill(request.path)),
    headers: {
      ...request.headers,
      ...(authorization !== undefined && { authorization: credentials(fill(authorization), things) }),
    },
    body: request.body === null ? null : fill(request.body),
  };
}

/** What node:http refuses to send is the business of the tests that write bytes. */
const printable = (path: string): string => path.replace(/[^\x21-\x7e]/g, '%20');

function credentials(text: string, { clientId, clientSecret }: Things): string {
  if (text === 'ADMIN') return basic(ADMIN.email, ADMIN.password);
  if (text === 'CLIENT') return basic(clientId, clientSecret);
  return text.replace(/[^\x20-\x7e]/g, '?');
}

function mutate(text: string, how: string, number: number): string {
  const at = number % text.length;
  const parts = text.split('.');
  switch (how) {
    case 'cut':
      return text.slice(0, at);
    case 'flip':
      return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
    case 'double':
      return `${text}.${text}`;
    case 'swap':
      return parts.toReversed().join('.');
    case 'pad':
      return `${text}${'='.repeat(number % 3)} `;
    default:
      return [Buffer.from('{"alg":"none"}').toString('base64url'), ...parts.slice(1)].join('.');
  }
}

import { ADMIN, basic, type TestService } from '../harness.ts';
import type { FuzzRequest } from './requests.ts';
import type { Place } from './values.ts';

/** What exists while a few dozen requests are made; made anew for each of these rounds, so that a round stands alone. */
export type Things = Record<Place, string>;

export async function makeThings(service: TestService): Promise<Things> {
  const admin = true;
  const slug = `fuzz-${crypto.randomUUID()}`;
  const organization = { name: 'fuzz', slug, owner_email: 'owner@fuzz.test' };
  const { body: made } = await service.call('POST', '/api/organizations', { admin, json: organization });
  const path = `/api/organizations/${made.id}/teams`;
  const { body: team } = await service.call('POST', path, { admin, json: { name: 'fuzz' } });
  const webhook = { name: 'fuzz', url: 'http://127.0.0.1:1/' };
  const { body: hook } = await service.call('POST', '/api/webhooks', { admin, json: webhook });
  const agent = await service.createAgent({ organization_id: made.id });
  const used = await service.tokens(agent);
  await service.call('POST', '/oauth/revoke', { json: { token: used.refreshToken } });
  const tokens = await service.tokens(agent);
  const list = await service.call('GET', `/api/webhooks/${hook.webhook.id}/deliveries?limit=1`, { admin });
  return {
    agent: agent.id,
    organization: made.id,
    team: team.id,
    webhook: hook.webhook.id,
    delivery: list.body.deliveries[0]?.id ?? 'delivery_01k0d4v3s6e8wbn7xtq5mzr2ch',
    clientId: agent.clientId,
    clientSecret: agent.clientSecret,
    accessToken: tokens.accessToken,
    refreshToken: tokens.refreshToken,
    usedToken: used.refreshToken,
  };
}

/** So that the lists that are read stay short, however long this goes on. */
export async function removeThings(service: TestService): Promise<void> {
  for (const table of ['webhook_attempts', 'deliveries', 'events', 'webhooks', 'organizations']) {
    await service.query(`delete from ${table}`).catch(() => {});
  }
  await service.query('delete from agents');
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

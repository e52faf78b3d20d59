import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { TestService } from '../harness.ts';
import { assertReason, assertRefused } from '../oauth/requests.ts';

export const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export const decode = (segment: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(segment, 'base64url').toString());

/** The three segments of a token, its header and its claims. */
export function takeApart(token: string) {
  const [header = '', payload = '', signature = ''] = token.split('.');
  return { header: decode(header), claims: decode(payload), segments: { header, payload, signature } };
}

const attacker = generateKeyPairSync('rsa', { modulusLength: 2048 });

export const attackerJwk = attacker.publicKey.export({ format: 'jwk' });

export function signRs256(header: object, claims: object, key: KeyObject = attacker.privateKey): string {
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`;
}

export function signHs256(header: object, claims: object, secret: string | Buffer): string {
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

/** Each is worth nothing to introspection and to self-service; the names tell them apart when one is not. */
export async function assertInvalid(service: TestService, forgeries: Record<string, string>): Promise<void> {
  for (const [name, token] of Object.entries(forgeries)) {
    await assertReason(service, token, 'invalid', name);
    const me = await service.call('GET', '/api/agents/me', { headers: { authorization: `Bearer ${token}` } });
    assertRefused(me, 401, 'invalid_token');
    assert.match(me.headers.get('www-authenticate') ?? '', /^Bearer /, name);
  }
}

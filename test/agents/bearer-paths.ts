import assert from 'node:assert/strict';
import { assertError } from '../assert-error.ts';
import type { TestService } from '../harness.ts';

const PATHS = [
  ['GET', '/api/agents/me'],
  ['GET', '/api/agents/me/usage'],
  ['POST', '/api/agents/me/rotate'],
  ['POST', '/api/agents/me/deactivate'],
  ['DELETE', '/api/agents/me/delete'],
] as const;

/** Introspection gives the reason, and no agent path takes the token any more. */
export async function assertDead(service: TestService, token: string, reason: string): Promise<void> {
  assert.deepEqual(await service.introspect(token), { active: false, reason });
  for (const [method, path] of PATHS) {
    const answer = await service.call(method, path, { bearer: token });
    assertError(answer, 401, 'invalid_token');
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer .*error="invalid_token"/);
  }
}

export async function assertAlive(service: TestService, token: string): Promise<void> {
  assert.equal((await service.introspect(token)).active, true);
  assert.equal((await service.call('GET', '/api/agents/me', { bearer: token })).status, 200);
}

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { digestSecret, isSameDigest } from '../../src/ids.ts';
import { ADMIN, type Answer, startService, type TestAgent, type TestService } from '../harness.ts';
import { requestToken } from '../oauth/requests.ts';
import { leaksTime } from './timing.ts';

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService({ hasRealHash: true });
  agent = await service.createAgent();
});
after(() => service.stop());

/** All that an answer tells, but for what differs in any two. */
function told({ status, body, headers }: Answer): unknown {
  const own = new Set(['x-request-id', 'date']);
  return { status, body, headers: [...headers].filter(([name]) => !own.has(name)) };
}

/** Processor time, of all threads: what others do on the machine does not count. */
async function cost(run: () => Promise<unknown>, times: number): Promise<number> {
  const before = process.cpuUsage();
  for (let count = 0; count < times; count += 1) await run();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const withPassword = (email: string) => () =>
  service.call('GET', '/api/agents', { admin: { email, password: 'a wrong password' } });

test('an unknown administrator and a wrong password are told apart by neither the answer nor its cost', async () => {
  const [known, unknown] = [withPassword(ADMIN.email), withPassword('nobody@signet.test')];
  assert.deepEqual(told(await unknown()), told(await known()));
  const ratio = (await cost(unknown, 4)) / (await cost(known, 4));
  // Without the hash it would cost less than a tenth.
  assert.ok(ratio > 0.2 && ratio < 5, `an unknown one costs ${ratio} of a known one`);
});

test('an unknown, a deactivated and a deleted client are told apart from a wrong secret by neither the answer nor its cost', async () => {
  const [inactive, deleted] = [await service.createAgent(), await service.createAgent()];
  await service.call('POST', `/api/agents/${inactive.id}`, { admin: true, json: { action: 'deactivate' } });
  await service.call('DELETE', `/api/agents/${deleted.id}`, { admin: true });
  const wrong = () => requestToken(service, { ...agent, clientSecret: deleted.clientSecret });
  const unknown = () => requestToken(service, { ...agent, clientId: 'cid_01k0d4v3s6e8wbn7xtq5mzr2ch' });
  const expected = told(await wrong());
  for (const answer of [
    await unknown(),
    await requestToken(service, inactive),
    await requestToken(service, deleted),
  ]) {
    assert.deepEqual(told(answer), expected);
  }
  await cost(wrong, 30);
  const ratio = (await cost(unknown, 100)) / (await cost(wrong, 100));
  assert.ok(ratio > 0.3 && ratio < 3, `an unknown one costs ${ratio} of a wrong secret`);
});

/** What must not be: it ends at the first character that differs. */
function isSameButLeaky(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1)
    if (a.charCodeAt(index) !== b.charCodeAt(index)) return false;
  return true;
}

test('the time of comparing a secret does not tell how much of it is right; a leaky comparison shows in the same test', () => {
  const stored = digestSecret(agent.clientSecret);
  const early = `${stored.startsWith('x') ? 'y' : 'x'}${stored.slice(1)}` as typeof stored;
  const late = `${stored.slice(0, -1)}${stored.endsWith('x') ? 'y' : 'x'}` as typeof stored;
  const pair = { early, late };
  assert.equal(
    leaksTime((guess) => isSameButLeaky(stored, guess), pair),
    true,
    'the control shows nothing',
  );
  assert.equal(
    leaksTime((guess) => isSameDigest(stored, guess), pair),
    false,
  );
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { databaseKinds, useDatabase } from '../databases.ts';
import { type Answer, startService, type TestService } from '../harness.ts';
import { until } from '../until.ts';
import { answer, type Receiver, startReceiver } from '../webhooks/faults/receiver.ts';
import { createHook, onlyDelivery } from '../webhooks/faults/scene.ts';

const RATE = 30;

for (const kind of databaseKinds) {
  describe(`a clock that is set forward and back: ${kind}`, () => {
    let service: TestService;
    before(async () => {
      useDatabase(kind);
      service = await startService({ env: { SIGNET_TOKEN_RATE: String(RATE) } });
    });
    after(() => service.stop());

    const refresh = (token: string): Promise<Answer> =>
      service.call('POST', '/oauth/refresh', { json: { grant_type: 'refresh_token', refresh_token: token } });
    const revoke = (token: string): Promise<Answer> =>
      service.call('POST', '/oauth/revoke', { json: { token } });
    const ask = ({ clientId, clientSecret }: { clientId: string; clientSecret: string }): Promise<Answer> =>
      service.call('POST', '/oauth/token', {
        json: { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret },
      });

    /** Lets what runs each minute run until it has done its part. */
    async function minutesUntil(what: string, happened: () => Promise<boolean>): Promise<void> {
      await until(what, async () => {
        service.clock.advance({ minutes: 1 });
        return happened();
      });
    }

    async function countRevocations(): Promise<number> {
      const [row] = await service.query('select count(*) as count from revoked_tokens');
      return Number(row?.['count']);
    }

    const retryAfter = ({ status, headers }: Answer): number => {
      assert.equal(status, 429);
      return Number(headers.get('retry-after'));
    };

    test('no token that was revoked lives again, also once its revocation is forgotten; no used or ended secret works', async () => {
      const agent = await service.createAgent();
      const { accessToken, refreshToken } = await service.tokens(agent);
      const used = await service.tokens(agent);
      assert.equal((await refresh(used.refreshToken)).status, 200);
      assert.equal((await revoke(accessToken)).status, 200);
      await revoke(refreshToken);
      const rotated = await service.call('POST', `/api/agents/${agent.id}`, {
        admin: true,
        json: { action: 'rotate', grace_period_secs: 3600 },
      });
      service.clock.leap(80);
      await minutesUntil('the revocations to be forgotten', async () => (await countRevocations()) === 0);
      service.clock.leap(-80);
      assert.equal((await service.introspect(accessToken)).active, false);
      await service.restart();
      assert.equal((await service.introspect(accessToken)).active, false);
      for (const token of [refreshToken, used.refreshToken]) {
        assert.equal((await refresh(token)).body.error, 'invalid_grant');
      }
      assert.equal((await ask(agent)).body.error, 'invalid_client');
      const now = { clientId: agent.clientId, clientSecret: rotated.body.client_secret };
      const { body } = await ask(now);
      assert.equal((await service.introspect(body.access_token)).active, true);
    });

    test('a token that is revoked while the clock takes it for expired is revoked when it does not', async () => {
      const { accessToken } = await service.tokens(await service.createAgent());
      service.clock.leap(0.5);
      assert.equal((await service.introspect(accessToken)).reason, 'expired');
      assert.equal((await revoke(accessToken)).status, 200);
      service.clock.leap(-0.5);
      assert.deepEqual(await service.introspect(accessToken), { active: false, reason: 'revoked' });
    });

    test('guesses and rates: no wait is negative, or longer than one can be', async () => {
      const guess = () =>
        service.call('GET', '/api/agents', { admin: { email: 'ghost@signet.test', password: 'wrong' } });
      service.clock.leap(1);
      for (let guesses = 0; guesses < 5; guesses += 1) assert.equal((await guess()).status, 401);
      service.clock.leap(-1);
      const wait = retryAfter(await guess());
      assert.ok(wait >= 1 && wait <= 300, String(wait));
      service.clock.advance({ seconds: wait });
      assert.equal((await guess()).status, 401);

      const agent = await service.createAgent();
      service.clock.leap(1);
      for (let asked = 0; asked < RATE; asked += 1) await service.tokens(agent);
      service.clock.leap(-1);
      const pause = retryAfter(await ask(agent));
      assert.ok(pause >= 1 && pause <= 60, String(pause));
      service.clock.advance({ seconds: pause });
      assert.equal((await ask(agent)).status, 200);
    });

    test('no key signs that was not published before, and what signs stays published', async () => {
      const agent = await service.createAgent();
      const published = async (): Promise<string[]> =>
        (await service.call('GET', '/.well-known/jwks.json')).body.keys.map(
          ({ kid }: { kid: string }) => kid,
        );
      const signs = async (): Promise<string> => {
        const { accessToken } = await service.tokens(agent);
        assert.equal((await service.introspect(accessToken)).active, true);
        return JSON.parse(Buffer.from(accessToken.split('.')[0] ?? '', 'base64url').toString()).kid;
      };
      let known = await published();
      for (const days of [200, -200, 400, -400]) {
        const before = await signs();
        service.clock.leap(days);
        if (days > 0) await minutesUntil('a rotation', async () => (await signs()) !== before);
        else for (let minutes = 0; minutes < 5; minutes += 1) service.clock.advance({ minutes: 1 });
        const kid = await signs();
        assert.ok(known.includes(kid));
        assert.equal(kid === before, days < 0);
        known = await published();
        assert.ok(known.includes(kid));
      }
    });

    describe('deliveries', () => {
      let receiver: Receiver;
      before(async () => {
        receiver = await startReceiver(answer(500), answer(500), answer(204));
      });
      after(() => receiver.close());

      test('none waits for longer than the leap, none is made too often, and nothing turns in circles', async () => {
        const hook = await createHook(service, receiver.url, 5);
        await service.createAgent();
        await until('the first attempt', () => receiver.seen.length === 1);
        await until('its note', async () => (await onlyDelivery(service, hook)).attempt_history.length === 1);
        service.clock.leap(-1);
        const before = await commits();
        service.clock.advance({ minutes: 5 });
        await new Promise((resolve) => setTimeout(resolve, 200));
        assert.ok((await commits()) - before < 40);
        assert.equal(receiver.seen.length, 1);
        service.clock.advance({ days: 1 });
        await until('the second attempt', () => receiver.seen.length === 2);
        await until('its note', async () => (await onlyDelivery(service, hook)).attempt_history.length === 2);
        service.clock.leap(1);
        service.clock.advance({ minutes: 1 });
        await until('the delivery', async () => (await onlyDelivery(service, hook)).status === 'delivered');
        const { attempts, attempt_history } = await onlyDelivery(service, hook);
        assert.deepEqual([attempts, attempt_history.length, receiver.seen.length], [3, 3, 3]);
      });

      async function commits(): Promise<number> {
        const { body } = await service.call('GET', '/metrics');
        return Number(/^signet_store_commit_transactions_count (\d+)$/m.exec(body)?.[1]);
      }
    });
  });
}

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { databaseKinds, useDatabase } from '../databases.ts';
import {
  type Answer,
  type CallOptions,
  send,
  startService,
  type TestAgent,
  type TestService,
} from '../harness.ts';
import { clientCredentials, createOrganization } from '../oauth/requests.ts';

/** `npm run fuzz` gives them longer. */
const SECONDS = Number(process.env['TEST_RACE_SECONDS'] ?? 0.5);
const AT_ONCE = 8;

for (const kind of databaseKinds) {
  describe(kind, () => {
    let service: TestService;
    before(async () => {
      useDatabase(kind);
      service = await startService();
    });
    after(() => service.stop());

    const call = (method: string, path: string, options: CallOptions = {}): Promise<Answer> =>
      send(service.url, method, path, options);
    const post = (path: string, json: object) => call('POST', path, { json });
    const refresh = (token: string) =>
      post('/oauth/refresh', { grant_type: 'refresh_token', refresh_token: token });
    const isActive = async (token: string): Promise<boolean> =>
      (await post('/oauth/introspect', { token })).body.active;
    const token = (agent: TestAgent) => post('/oauth/token', clientCredentials(agent));
    const act = (agent: TestAgent, json: object) =>
      call('POST', `/api/agents/${agent.id}`, { admin: true, json });

    /** Again and again, several beside each other; answers how often. */
    async function repeat(
      t: { diagnostic(message: string): void },
      round: () => Promise<void>,
    ): Promise<void> {
      const end = performance.now() + SECONDS * 1000;
      let rounds = 0;
      const runner = async () => {
        while (performance.now() < end) {
          await round();
          rounds += 1;
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, runner));
      t.diagnostic(`${rounds} races`);
      assert.ok(rounds >= AT_ONCE);
    }

    test('of three refreshes with one token at once exactly one wins, and nothing of the grant lives on', async (t) => {
      const agent = await service.createAgent();
      await repeat(t, async () => {
        const { body: first } = await token(agent);
        const answers = await Promise.all([1, 2, 3].map(() => refresh(first.refresh_token)));
        assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 400, 400]);
        const won = answers.find(({ status }) => status === 200)?.body;
        for (const dead of [first.access_token, won.access_token, won.refresh_token]) {
          assert.equal(await isActive(dead), false);
        }
      });
    });

    test('a refresh beside a revocation of its token leaves nothing alive, whoever is first', async (t) => {
      const agent = await service.createAgent();
      await repeat(t, async () => {
        const { body: first } = await token(agent);
        const [answer, revoked] = await Promise.all([
          refresh(first.refresh_token),
          post('/oauth/revoke', { token: first.refresh_token }),
        ]);
        assert.ok([200, 400].includes(answer.status), String(answer.status));
        assert.equal(revoked.status, 200);
        const later = answer.status === 200 ? [answer.body.access_token, answer.body.refresh_token] : [];
        for (const dead of [first.access_token, first.refresh_token, ...later])
          assert.equal(await isActive(dead), false);
      });
    });

    test('a rotation beside token requests: afterwards the old secret and its refresh tokens are dead, the new one works', async (t) => {
      await repeat(t, async () => {
        const agent = await service.createAgent();
        const [rotated, ...answers] = await Promise.all([
          act(agent, { action: 'rotate' }),
          token(agent),
          token(agent),
        ]);
        assert.equal(rotated.status, 200);
        for (const { status, body } of answers) {
          assert.ok([200, 401].includes(status), String(status));
          if (status === 200) assert.equal((await refresh(body.refresh_token)).status, 400);
        }
        assert.equal((await token(agent)).status, 401);
        assert.equal((await token({ ...agent, clientSecret: rotated.body.client_secret })).status, 200);
      });
    });

    test('a deletion beside everything else that an agent can do or suffer leaves nothing of it', async (t) => {
      await repeat(t, async () => {
        const agent = await service.createAgent();
        const { body: held } = await token(agent);
        const answers = await Promise.all([
          call('DELETE', `/api/agents/${agent.id}`, { admin: true }),
          token(agent),
          refresh(held.refresh_token),
          act(agent, { action: 'rotate', grace_period_secs: 60 }),
          act(agent, { action: 'revoke_tokens' }),
          call('PUT', `/api/agents/${agent.id}`, { admin: true, json: { name: 'renamed' } }),
          call('POST', '/api/agents/me/rotate', { bearer: held.access_token }),
          post('/oauth/revoke', { token: held.access_token }),
        ]);
        for (const { status } of answers) assert.ok(status < 500, String(status));
        assert.equal((await call('GET', `/api/agents/${agent.id}`, { admin: true })).status, 404);
        const tokens = [held, answers[1].body, answers[2].body].flatMap(
          ({ access_token: access, refresh_token: refreshed }) => [access, refreshed],
        );
        for (const dead of tokens.filter((text) => text !== undefined))
          assert.equal(await isActive(dead), false);
        for (const body of [answers[3].body, answers[6].body]) {
          assert.equal(
            (await token({ ...agent, clientSecret: body.client_secret ?? agent.clientSecret })).status,
            401,
          );
        }
      });
    });

    test('a deletion of an organization beside what is made in it leaves no agent and no team behind', async (t) => {
      await repeat(t, async () => {
        const organization = await createOrganization(service);
        const path = `/api/organizations/${organization}`;
        const admin = true;
        const answers = await Promise.all([
          call('DELETE', path, { admin }),
          call('POST', '/api/agents', { admin, json: { name: 'x', organization_id: organization } }),
          call('POST', `${path}/agents`, { admin, json: { name: 'x' } }),
          call('POST', `${path}/teams`, { admin, json: { name: 'x' } }),
          call('PUT', path, { admin, json: { name: 'y' } }),
        ]);
        for (const { status } of answers) assert.ok(status < 500, String(status));
        for (const { status, body } of answers.slice(1, 3)) {
          if (status === 201)
            assert.equal((await call('GET', `/api/agents/${body.agent.id}`, { admin })).status, 404);
        }
        assert.equal((await call('GET', `${path}/teams`, { admin })).status, 404);
      });
    });
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAgent } from '../../src/agents/agents.store.ts';
import { PostgresTokensStore } from '../../src/oauth/tokens.store.postgres.ts';
import { onPostgres } from './postgres.ts';
import { aClaim, aGrant, anIssue, aRefreshToken, ids, NOW, storeAgent, tellNobody } from './rows.ts';

const AGENTS = 4;
const BATCHES = 40;
const BATCH = 16;

for (const hasNamedStatements of [true, false]) {
  onPostgres(
    (opened) => {
      const shuffled = <Item>(items: readonly Item[]): Item[] =>
        items
          .map((item) => [Math.random(), item] as const)
          .sort(([a], [b]) => a - b)
          .map(([, item]) => item);

      test(`${hasNamedStatements ? 'named' : 'unnamed'} statements: batches of everything at once over the same few agents never meet a deadlock, and every count is right`, async () => {
        const { database, place } = opened();
        const store = new PostgresTokensStore(database);
        const agents = await Promise.all(Array.from({ length: AGENTS }, () => storeAgent(database)));
        const agentOf = (index: number) => agents[index % AGENTS]?.id ?? assert.fail();
        const secrets = await place.query('select id, agent_id from client_secrets');
        const secretOf = (agentId: string) =>
          Number(secrets.find((row) => row['agent_id'] === agentId)?.['id']);
        const revocations = Array.from({ length: BATCH }, () => ({ id: ids.newSortable(), expiresAt: NOW }));

        const issueAndRefresh = async (batch: number) => {
          const grants = Array.from({ length: BATCH }, (_, index) => {
            const agentId = agentOf(index);
            const refreshToken = aRefreshToken({ clientSecretId: secretOf(agentId) });
            const usedSecret = { id: secretOf(agentId), isNewest: index % 2 === 0 };
            return aGrant(agentId, {
              refreshToken,
              usedSecret,
              happening: batch % 4 === 0 ? anIssue('x') : null,
            });
          });
          const mixed = shuffled(grants);
          const issued = await store.issue(mixed, tellNobody);
          const claims = mixed.map((grant, index) =>
            aClaim({
              id: issued[index]?.refreshTokenId ?? assert.fail('not issued'),
              agentId: grant.agentId,
              token: grant.refreshToken ?? assert.fail(),
            }),
          );
          // Each twice, in two batches at once, each in an order of its own.
          const outcomes = await Promise.all([
            store.refresh(shuffled(claims), tellNobody),
            store.refresh(shuffled(claims), tellNobody),
          ]);
          const won = outcomes.flat().filter(({ status }) => status === 'refreshed');
          assert.equal(won.length, BATCH);
        };
        const revoked = Promise.all(
          Array.from({ length: BATCHES }, () => store.revoke(shuffled(revocations))),
        ).then((answers) => answers.flat().filter(Boolean).length);
        await Promise.all(Array.from({ length: BATCHES }, (_, batch) => issueAndRefresh(batch)));

        assert.equal(await revoked, BATCH);
        const each = (BATCHES * BATCH) / AGENTS;
        for (const { id } of agents) {
          const agent = await findAgent(database.reader, id);
          assert.deepEqual([agent?.tokenCount, agent?.refreshCount], [2 * each, each]);
        }
        // A connection tells what it has met as it ends.
        await database.close();
        const [stats] = await place.query(
          'select deadlocks from pg_stat_database where datname = current_database()',
        );
        assert.equal(Number(stats?.['deadlocks']), 0);
      });
    },
    { hasNamedStatements },
  );
}

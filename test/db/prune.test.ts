import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endSecrets } from '../../src/agents/secrets.store.ts';
import type { Clock } from '../../src/clock.ts';
import type { Database, Queries } from '../../src/db/database.ts';
import {
  deleteEndedSecrets,
  deleteExpiredRefreshTokens,
  deleteExpiredRevocations,
} from '../../src/oauth/expired.store.ts';
import { ExpiryFloor } from '../../src/oauth/expiry-floor.ts';
import { prune } from '../../src/oauth/prune.worker.ts';
import { TestClock } from '../clock.ts';
import { onEachDatabase } from './databases.ts';
import { aGrant, aRefreshToken, ids, storeAgent, tellNobody } from './rows.ts';

onEachDatabase((opened) => {
  const clock = new TestClock();
  /** A day ago: what ended then is forgotten now. */
  const now = clock.now();
  clock.advance({ days: 1 });

  const standing: Clock = { now: () => clock.now(), after: () => () => {} };
  const pass = (database: Database, at = standing) =>
    prune({ database, clock: at, expiryFloor: new ExpiryFloor({ database, clock: at }) });
  /** What was revoked is forgotten a pass after all processes could know that its time is over. */
  async function pruneTwice(database: Database): Promise<void> {
    await pass(database);
    await pass(database);
  }

  async function revoke(count: number, expiresAt: number): Promise<string[]> {
    const revocations = Array.from({ length: count }, () => ({ id: ids.newSortable(), expiresAt }));
    await opened().tokensStore.revoke(revocations);
    return revocations.map((revocation) => revocation.id);
  }

  /** An agent, its secret and as many refresh tokens of it. */
  async function storeTokens(count: number, expiresAt: number) {
    const { database, tokensStore } = opened();
    const agent = await storeAgent(database);
    const [client] = await tokensStore.findClients([{ clientId: agent.clientId, now }]);
    const clientSecretId = client?.secrets[0]?.id as number;
    const refreshToken = () => aRefreshToken({ clientSecretId, expiresAt });
    const grants = Array.from({ length: count }, () => aGrant(agent.id, { refreshToken: refreshToken() }));
    await tokensStore.issue(grants, tellNobody);
    return { agentId: agent.id, clientSecretId };
  }

  async function count(table: 'refresh_tokens' | 'client_secrets' | 'revoked_tokens'): Promise<number> {
    const { reader } = opened().database;
    return (await reader.selectFrom(table).select('id').execute()).length;
  }

  const left = async () => [
    await count('refresh_tokens'),
    await count('client_secrets'),
    await count('revoked_tokens'),
  ];

  /** Passes everything on and notes how many rows each transaction deleted. */
  function watched(database: Database, deletions: number[]): Database {
    return {
      reader: database.reader,
      ping: () => database.ping(),
      report: () => {},
      close: () => database.close(),
      transaction: (work) => database.transaction(work),
      audited: (work) => database.audited(work),
      async readCommitted<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
        const answer = await database.readCommitted(work);
        deletions.push(Number(answer));
        return answer;
      },
    };
  }

  test('what has been over for a day goes, in that millisecond; what has not stays', async () => {
    await revoke(1, now);
    await revoke(1, now + 1);
    await storeTokens(2, now);
    await storeTokens(3, now + 1);
    await pruneTwice(opened().database);
    assert.deepEqual(await left(), [3, 2, 1]);
  });

  test('an ended secret goes; what is left of its refresh tokens works no more, and goes when it expires', async () => {
    const { database, tokensStore } = opened();
    const [, secrets] = await left();
    const { agentId, clientSecretId } = await storeTokens(4, now + 1000);
    const tokensLeft = () =>
      database.reader
        .selectFrom('refresh_tokens')
        .select('id')
        .where('client_secret_id', '=', clientSecretId)
        .execute();
    await database.transaction((tx) => endSecrets(tx, agentId, now));
    await pass(database);
    assert.equal((await left())[1], secrets);
    const ids = (await tokensLeft()).map(({ id }) => id);
    assert.deepEqual(await tokensStore.findRefreshTokens(ids), [null, null, null, null]);
    await pass(database, { ...standing, now: () => clock.now() + 1000 });
    assert.deepEqual(await tokensLeft(), []);
  });

  test('each step of the store deletes no more than its limit and answers how many went', async () => {
    const { database } = opened();
    const inSteps = async (step: typeof deleteEndedSecrets) => {
      const run = () => database.transaction((tx) => step(tx, now, 2));
      return [await run(), await run(), await run()];
    };
    await storeTokens(3, now);
    assert.deepEqual(await inSteps(deleteExpiredRefreshTokens), [2, 1, 0]);
    await revoke(3, now);
    assert.deepEqual(await inSteps(deleteExpiredRevocations), [2, 1, 0]);
    const ended = [
      await storeTokens(1, now + 5),
      await storeTokens(1, now + 5),
      await storeTokens(1, now + 5),
    ];
    await database.transaction(async (tx) => {
      for (const { agentId } of ended) await endSecrets(tx, agentId, now);
    });
    assert.deepEqual(await inSteps(deleteEndedSecrets), [2, 1, 0]);
  });

  test('however much has expired, no transaction deletes more than 200 rows, and all of it goes', async () => {
    const before = await left();
    await revoke(450, now);
    await storeTokens(401, now);
    const deletions: number[] = [];
    await pruneTwice(watched(opened().database, deletions));
    assert.ok(deletions.every((deleted) => deleted <= 200));
    assert.equal(
      deletions.reduce((sum, deleted) => sum + deleted, 0),
      851,
    );
    assert.deepEqual(await left(), [before[0], (before[1] ?? 0) + 1, before[2]]);
  });

  test('pruning twice, and twice at once, is as good as once', async () => {
    const { database } = opened();
    const before = await left();
    await revoke(250, now);
    await Promise.all([pass(database), pass(database)]);
    await pass(database);
    assert.deepEqual(await left(), before);
  });
});

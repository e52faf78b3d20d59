import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { after, before, mock, test } from 'node:test';
import { openSqlite, type SqliteDatabase } from '../../src/db/sqlite.ts';
import { SqliteQueueStore } from '../../src/webhooks/queue.store.sqlite.ts';
import { sqliteQuery } from '../databases.ts';
import { insertBacklog } from '../webhooks/backlog-rows.ts';
import { NOW, storeWebhook } from './rows.ts';

/** The types of Node do not know these two yet. */
interface CountingStatement extends StatementSync {
  stat(counter: 'vmStep'): number;
  resetStats(): void;
}

const folder = mkdtempSync(join(tmpdir(), 'signet-cost-'));
/** Every statement that was prepared, the latest of each text: SQLite counts in it what running it took. */
const statements = new Map<string, CountingStatement>();
const { prepare } = DatabaseSync.prototype;

before(() => {
  mock.method(DatabaseSync.prototype, 'prepare', function (this: DatabaseSync, sql: string) {
    const statement = prepare.call(this, sql);
    statements.set(sql, statement as CountingStatement);
    return statement;
  });
});
after(() => {
  mock.restoreAll();
  rmSync(folder, { recursive: true });
});

function statementOf(pattern: RegExp): [sql: string, statement: CountingStatement] {
  const found = [...statements].find(([sql]) => pattern.test(sql));
  return found ?? assert.fail(`no statement is like ${pattern}`);
}

interface Operation {
  statement: RegExp;
  run(database: SqliteDatabase, webhookId: string): Promise<unknown>;
}

const lookForDue: Operation = {
  statement: /^select webhook_id, next_attempt_at from deliveries/,
  run: (database) => new SqliteQueueStore(database).listDue(),
};

/** With a lease that ends at once, so that each claim finds what the one before it found. */
const claim: Operation = {
  statement: /^select deliveries.id/,
  run: (database, webhookId) =>
    database.transaction((tx) =>
      new SqliteQueueStore(database).claim(tx, [{ webhookId, now: NOW, leaseUntil: NOW, limit: 4 }]),
    ),
};

interface Cost {
  plan: string[];
  steps: number;
}

/** What the operation takes where so many deliveries wait. */
async function costOf({ statement, run }: Operation, waiting: number): Promise<Cost> {
  const path = join(mkdtempSync(join(folder, 'db-')), 'signet.db');
  statements.clear();
  const database = await openSqlite(path);
  try {
    const { id: webhookId } = await storeWebhook(database);
    await insertBacklog(sqliteQuery(path), {
      webhookId,
      count: waiting,
      attempts: 0,
      maxAttempts: 1,
      dueAt: NOW,
    });
    await run(database, webhookId);
    const [sql, prepared] = statementOf(statement);
    prepared.resetStats();
    await run(database, webhookId);
    const plan = database.prepareRead(`explain query plan ${sql}`).all();
    return { steps: prepared.stat('vmStep'), plan: plan.map((row) => String(row['detail'])) };
  } finally {
    await database.close();
  }
}

for (const [what, operation] of [
  ['looking for what is due', lookForDue],
  ['claiming', claim],
] as const) {
  test(`${what} takes as many steps with 100,000 waiting deliveries as with ten, by the index of what waits`, async () => {
    const few = await costOf(operation, 10);
    const many = await costOf(operation, 100_000);
    assert.ok(few.steps > 0);
    assert.equal(many.steps, few.steps);
    const reads = many.plan.filter((detail) => detail.includes('deliveries'));
    assert.ok(reads.some((detail) => /INDEX deliveries_due \(webhook_id[=>]\?/.test(detail)));
    assert.ok(reads.every((detail) => !detail.startsWith('SCAN')));
  });
}

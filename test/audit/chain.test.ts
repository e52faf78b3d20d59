import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { SERVICE } from '../../src/audit/actor.ts';
import { findEnd, listEntriesAfter } from '../../src/audit/audit.store.ts';
import { BEGINNING, deriveChainKey, hashOf, type Link } from '../../src/audit/chain.ts';
import { verifyLog } from '../../src/audit/verify.ts';
import type { Queries } from '../../src/db/database.ts';
import { toMasterKey } from '../../src/encryption.ts';
import { changes, type OpenLog, openLog, positionOf } from './log.ts';

let log: OpenLog;
before(async () => {
  log = await openLog();
});
after(() => log.close());

const headOf = async (db: Queries) => (await findEnd(db, 'head')) ?? assert.fail('no head');
const remove = (position: number) => (tx: Queries) =>
  tx.deleteFrom('audit_entries').where('position', '=', position).execute();
const move = async (tx: Queries, from: number, to: number) => {
  await tx.updateTable('audit_entries').set({ position: to }).where('position', '=', from).execute();
};

test('an empty log is whole, and so is one of many pages', async () => {
  assert.deepEqual(await log.verify(), { entries: 0, anchor: BEGINNING, head: BEGINNING });
  await log.write(3, 'first');
  await log.write(1200);
  const { entries, anchor, head } = await log.verify();
  assert.deepEqual([entries, anchor, head.position], [1203, BEGINNING, 1203]);
  const [entry] = await listEntriesAfter(log.database.reader, 0, 1);
  assert.deepEqual([entry?.before, entry?.after], ['{"name":"first"}', '{"name":"first!"}']);
});

test('a text that no database keeps as it is does not break the chain', async () => {
  const [change] = changes(1, 'nul \0 and half \ud83d a pair');
  assert.ok(change);
  const by = { ...SERVICE, name: '\0\ud83d' };
  await log.database.audited((tx) => log.audit.record(tx, by, change));
  await log.verify();
});

test('writers at once make a chain without a gap, and one that fails takes no place', async () => {
  const { head } = await log.verify();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 60 }, (_, index) => {
      const database = log.databases[index % log.databases.length] ?? log.database;
      const run = index % 6 === 0 ? database.readCommitted.bind(database) : database.audited.bind(database);
      return run(async (tx) => {
        await log.audit.record(tx, SERVICE, ...changes((index % 3) + 1, `writer ${index}`));
        if (index % 5 === 0) throw new Error('on purpose');
      });
    }),
  );
  const failed = outcomes.filter(({ status }) => status === 'rejected');
  assert.equal(failed.length, 12);
  const written = outcomes.reduce(
    (sum, { status }, index) => sum + (status === 'fulfilled' ? (index % 3) + 1 : 0),
    0,
  );
  assert.equal((await log.verify()).head.position, head.position + written);
});

test('a change of any member of an entry is found at that entry', async () => {
  const columns = Object.keys(
    (await sql<object>`select * from audit_entries limit 1`.execute(log.database.reader)).rows[0] ?? {},
  );
  assert.equal(columns.length, 16);
  for (const column of columns.filter((name) => name !== 'position')) {
    const value = column === 'created_at' ? sql`created_at + 1` : sql`'forged'`;
    const set = (tx: Queries) =>
      sql`update audit_entries set ${sql.id(column)} = ${value} where position = 600`.execute(tx);
    assert.equal(await log.brokenBy(set), 600, column);
  }
});

test('an entry that is removed, swapped with another or put between others is found', async () => {
  const { head } = await log.verify();
  for (const position of [1, 2, 600, head.position]) {
    assert.equal(await log.brokenBy(remove(position)), position, `removed ${position}`);
  }
  const swap = async (tx: Queries) => {
    await move(tx, 700, -1);
    await move(tx, 701, 700);
    await move(tx, -1, 701);
  };
  assert.equal(await log.brokenBy(swap), 700);
  const copyOf = (from: number, to: number) => (tx: Queries) =>
    sql`insert into audit_entries select ${sql.lit(to)}, created_at, actor_kind, actor_id, actor_name, action, target_kind,
      target_id, target_name, organization_id, request_id, address, fields_before, fields_after, previous_hash, hash
      from audit_entries where position = ${from}`.execute(tx);
  const insert = async (tx: Queries) => {
    await move(tx, head.position, head.position + 1);
    await copyOf(500, head.position)(tx);
  };
  assert.equal(await log.brokenBy(insert), head.position);
  assert.equal(await log.brokenBy(copyOf(head.position, head.position + 1)), head.position + 1);
  assert.equal(await log.brokenBy(copyOf(1, 0)), 0);
  assert.equal(await log.brokenBy(copyOf(1, -7)), 0);
});

test('who writes the database without the key can neither make an entry nor move the ends of the log', async () => {
  const { head } = await log.verify();
  const forge = async (tx: Queries) => {
    const [last] = await listEntriesAfter(tx, head.position - 1, 1);
    const other = deriveChainKey(toMasterKey(Buffer.alloc(32, 8).toString('base64')) ?? assert.fail());
    assert.ok(last);
    const hash = hashOf(other, last.previousHash, { ...last, actor: { ...last.actor, name: 'nobody' } });
    await tx
      .updateTable('audit_entries')
      .set({ actor_name: 'nobody', hash })
      .where('position', '=', head.position)
      .execute();
    await tx.updateTable('audit_chain').set({ hash }).execute();
  };
  assert.equal(await log.brokenBy(forge), head.position);

  const cut = async (tx: Queries) => {
    const [last] = await listEntriesAfter(tx, 599, 1);
    await tx.deleteFrom('audit_entries').where('position', '>', 600).execute();
    await tx
      .updateTable('audit_chain')
      .set({ position: 600, hash: last?.hash ?? '' })
      .execute();
  };
  assert.equal(await log.brokenBy(cut), 600);

  const behead = async (tx: Queries) => {
    const [last] = await listEntriesAfter(tx, 599, 1);
    await tx.deleteFrom('audit_entries').where('position', '<=', 600).execute();
    const { seal } = await headOf(tx);
    await tx
      .insertInto('audit_chain')
      .values({ name: 'anchor', position: 600, hash: last?.hash ?? '', seal })
      .execute();
  };
  assert.equal(await log.brokenBy(behead), 600);
  assert.equal(await log.brokenBy((tx) => tx.deleteFrom('audit_chain').execute()), head.position);
});

test('a log that was set back to an old copy is whole by itself, and not by a head that was noted since', async () => {
  const old = await headOf(log.database.reader);
  await log.write(5, 'later');
  const { head } = await log.verify();
  const setBack = async (tx: Queries) => {
    await tx.deleteFrom('audit_entries').where('position', '>', old.position).execute();
    await tx.updateTable('audit_chain').set(old).execute();
  };
  assert.equal(await log.brokenBy(setBack), null);
  assert.equal(await log.brokenBy(setBack, head), old.position + 1);
  assert.deepEqual((await log.verify(old)).head, head);
  const wrong: Link = { position: old.position, hash: head.hash };
  assert.equal(await log.verify(wrong).then(() => null, positionOf), old.position);
});

test('another master key verifies nothing', async () => {
  const key = deriveChainKey(toMasterKey(Buffer.alloc(32, 9).toString('base64')) ?? assert.fail());
  await assert.rejects(verifyLog({ db: log.database.reader, key }));
});

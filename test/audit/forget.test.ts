import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { listEntriesAfter } from '../../src/audit/audit.store.ts';
import { forgetOldEntries } from '../../src/audit/forget.worker.ts';
import { KEPT_DAYS, type OpenLog, openLog, positionOf } from './log.ts';

let log: OpenLog;
beforeEach(async () => {
  log = await openLog();
});
afterEach(() => log.close());

test('old entries go, in that millisecond, and what is left is whole and goes on', async () => {
  await log.write(430, 'old');
  const noted = (await log.verify()).head;
  log.clock.advance({ milliseconds: 1 });
  await log.write(5, 'kept');
  log.clock.advance({ days: KEPT_DAYS, milliseconds: -2 });
  await log.forget();
  assert.equal((await log.verify()).entries, 435);
  log.clock.advance({ milliseconds: 1 });
  await log.forget();
  await log.forget();
  const { entries, anchor, head } = await log.verify(noted);
  assert.deepEqual([entries, anchor, head.position], [5, noted, 435]);

  log.clock.advance({ days: 1 });
  await log.forget();
  await log.write(1, 'after all went');
  assert.deepEqual([(await log.verify()).entries, (await log.verify()).head.position], [1, 436]);
  assert.equal(await log.verify(noted).then(() => null, positionOf), noted.position);
  assert.equal(
    await log.brokenBy((tx) => tx.deleteFrom('audit_chain').where('name', '=', 'anchor').execute()),
    1,
  );
});

test('0 days keep everything', async () => {
  await log.write(3);
  log.clock.advance({ days: 40_000 });
  const { database, clock, audit } = log;
  await forgetOldEntries({ database, clock, key: audit.key, keptDays: 0 });
  assert.equal((await log.verify()).entries, 3);
});

test('an entry that was made old is not removed with its trace', async () => {
  await log.write(10);
  const { database } = log;
  await database.transaction((tx) =>
    tx.updateTable('audit_entries').set({ created_at: 0 }).where('position', '<=', 3).execute(),
  );
  await assert.rejects(log.forget(), /Entry 1 is not the one that was written there/);
  assert.equal((await listEntriesAfter(database.reader, 0, 100)).length, 10);
});

test('verifying works while entries are written and removed', async () => {
  await log.write(1500, 'old');
  log.clock.advance({ days: KEPT_DAYS });
  const isOver = { written: false };
  const writing = (async () => {
    for (let round = 0; round < 40; round++) await log.write(2, `new ${round}`);
    isOver.written = true;
  })();
  const forgetting = log.forget();
  let looks = 0;
  for (; !isOver.written || looks < 2; looks++) {
    await log.verify();
    // Reads of SQLite never leave the turn of the event loop, and the writers need one.
    await setImmediate();
  }
  await Promise.all([writing, forgetting]);
  const { entries, anchor } = await log.verify();
  assert.deepEqual([entries, anchor.position], [80, 1500]);
});

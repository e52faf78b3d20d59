import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimScene, LEASE_UNTIL } from './claims.ts';
import { onEachDatabase } from './databases.ts';
import { NOW } from './rows.ts';

const DELIVERED = { status: 'delivered' } as const;

onEachDatabase((opened) => {
  const scene = () => claimScene(opened());

  for (const [next, changes] of [
    [DELIVERED, { status: 'delivered', nextAttemptAt: null }],
    [{ status: 'dead' }, { status: 'dead', nextAttemptAt: null }],
    [
      { status: 'failed', reason: 'gone' },
      { status: 'failed', nextAttemptAt: null, failureReason: 'gone' },
    ],
    [
      { status: 'retrying', nextAttemptAt: NOW + 2000 },
      { status: 'retrying', nextAttemptAt: NOW + 2000 },
    ],
  ] as const) {
    test(`a claimed delivery is settled as ${next.status}`, async () => {
      const { store, claimOne, settle, read } = await scene();
      const delivery = await store();
      assert.equal(await settle(await claimOne(), next), true);
      const claimed = { ...delivery, attempts: 1, lastAttemptAt: NOW };
      assert.deepEqual(await read(delivery), { ...claimed, ...changes });
    });
  }

  test('a claim that was lost to a later one settles nothing', async () => {
    const { store, claimOne, reclaimOne, settle, read } = await scene();
    const delivery = await store();
    const lost = await claimOne();
    const held = await reclaimOne();
    const before = await read(delivery);
    assert.equal(await settle(lost, DELIVERED), false);
    assert.deepEqual(await read(delivery), before);
    assert.equal(await settle(held, DELIVERED), true);
  });

  for (const end of [DELIVERED, { status: 'dead' }, { status: 'failed', reason: 'gone' }] as const) {
    test(`what is ${end.status} stays so: its claim settles it no second time`, async () => {
      const { store, claimOne, settle, read } = await scene();
      const delivery = await store();
      const claimed = await claimOne();
      await settle(claimed, end);
      const before = await read(delivery);
      for (const next of [
        DELIVERED,
        { status: 'dead' },
        { status: 'retrying', nextAttemptAt: NOW },
      ] as const) {
        assert.equal(await settle(claimed, next), false);
      }
      assert.deepEqual(await read(delivery), before);
    });
  }

  test('a claim beyond the last attempt is settled without counting it', async () => {
    const { store, claimOne, settle, read } = await scene();
    const delivery = await store({ attempts: 3, maxAttempts: 3, status: 'retrying' });
    assert.equal(await settle(await claimOne(), { status: 'dead' }), true);
    assert.equal((await read(delivery))?.attempts, 3);
  });

  test('what is handed back is due at once, and its attempt did not count', async () => {
    const { store, claimOne, giveBack, read, claim } = await scene();
    const delivery = await store({ status: 'retrying', attempts: 1 });
    const claimed = await claimOne();
    await giveBack(claimed, NOW + 7);
    const { status, attempts, nextAttemptAt } = (await read(delivery)) ?? assert.fail();
    assert.deepEqual([status, attempts, nextAttemptAt], ['retrying', 1, NOW + 7]);
    assert.equal((await claim({ now: NOW + 7 })).length, 1);
  });

  test('handing back does nothing to what has ended or was claimed anew', async () => {
    const { store, claimOne, reclaimOne, giveBack, settle, read } = await scene();
    const delivery = await store();
    const lost = await claimOne();
    const held = await reclaimOne();
    await giveBack(lost, NOW);
    assert.equal((await read(delivery))?.nextAttemptAt, LEASE_UNTIL + 1);
    await settle(held, DELIVERED);
    await giveBack(held, NOW);
    assert.deepEqual([(await read(delivery))?.status, (await read(delivery))?.attempts], ['delivered', 2]);
  });
});

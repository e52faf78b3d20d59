import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPostgres } from '../databases.ts';
import { startService } from '../harness.ts';
import { onPostgres } from './postgres.ts';

onPostgres(() => {
  test('two instances that start at once on an empty database both come up, with the same keys and administrator', async () => {
    const { env, query, remove } = await createPostgres({ isEmpty: true });
    const both = await Promise.all([startService({ env }), startService({ env })]);
    try {
      const [one, two] = await Promise.all(
        both.map(async (service) => (await service.call('GET', '/.well-known/jwks.json')).body),
      );
      assert.deepEqual(one, two);
      const [administrators] = await query('select count(*) as count from administrators');
      assert.equal(administrators?.['count'], 1);
      for (const service of both) assert.equal((await service.createAgent()).id.startsWith('agent_'), true);
    } finally {
      for (const service of both) await service.stop();
      await remove();
    }
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { databaseKinds, useDatabase } from '../databases.ts';
import { fuzz } from './fuzz.ts';

/** A slice of `npm run fuzz`, another one each time; what fails says with which seed it fails again. */
for (const kind of databaseKinds) {
  describe(kind, () => {
    test('whatever is sent, the answer is one of the document, without a secret, and never an accident', async (t) => {
      useDatabase(kind);
      const seed = Math.floor(Math.random() * 2 ** 31);
      const { requests, statuses, longestStall } = await fuzz({ seconds: 2, seed });
      t.diagnostic(
        `seed ${seed}: ${requests} requests, ${JSON.stringify(statuses)}, ${Math.round(longestStall)} ms at a stretch`,
      );
      assert.ok(requests >= 40 && Object.keys(statuses).length > 5);
    });
  });
}

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { adminEnv, startChild } from '../child.ts';
import { databaseKinds } from '../databases.ts';
import { send } from '../harness.ts';
import { assertRefusal } from '../outage/load.ts';
import { sqliteFolder } from './disk.ts';
import { noise, overwrite, rootOf } from './left.ts';

const skip = !databaseKinds.includes('SQLite') && 'this is a fault of a SQLite file';

test('damage that is met while the service runs: 503, said once, shown by readiness, and nothing more is written', {
  skip,
}, async (t) => {
  const { folder, dataDir } = sqliteFolder();
  t.after(() => folder.remove());
  const env = { ...adminEnv, SIGNET_LOG_LEVEL: 'error' };
  await (await startChild({ folder, env })).kill('SIGTERM');
  const child = await startChild({ folder, env });
  const file = join(dataDir, 'signet.db');
  const call = (method: string, path: string) =>
    send(child.url, method, path, { admin: true, ...(method === 'POST' && { json: { name: 'after' } }) });
  overwrite(file, rootOf(file, 'audit_entries'), noise(1));
  for (let again = 0; again < 3; again += 1) assertRefusal(await call('GET', '/api/audit-log'));
  const ready = await send(child.url, 'GET', '/readyz');
  assertRefusal(ready);
  assert.match(
    ready.body.error_description,
    /The database is damaged\. Stop the service and restore a backup\./,
  );
  assertRefusal(await call('POST', '/api/agents'));
  assert.equal((await call('GET', '/api/agents')).status, 200);
  const lines = Object.values(child.output()).join('').split('\n');
  assert.equal(lines.filter((line) => line.includes('takes no writes')).length, 1);
});

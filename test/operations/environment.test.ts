import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { childFolder, runChild, startChild } from '../child.ts';
import { send } from '../harness.ts';

const folder = childFolder();
after(() => folder.remove());

test('a .env file is read, and the environment goes before it', async () => {
  const text = 'SIGNET_ADMIN_EMAIL=file@signet.test\nSIGNET_ADMIN_PASSWORD="from the file, quoted"\n';
  writeFileSync(join(folder.path, '.env'), `${text}SIGNET_AUDIENCE=from-file\n`);
  const child = await startChild({ folder, env: { SIGNET_ADMIN_EMAIL: 'env@signet.test' } });
  const admin = (email: string) => ({ admin: { email, password: 'from the file, quoted' } });
  assert.equal((await send(child.url, 'GET', '/api/agents', admin('env@signet.test'))).status, 200);
  assert.equal((await send(child.url, 'GET', '/api/agents', admin('file@signet.test'))).status, 401);
  await child.kill('SIGTERM');
});

test('a start with problems prints each of them, no stack trace, and exits with 1', async () => {
  const { code, stdout, stderr } = await runChild({
    folder,
    env: { SIGNET_LOG_LEVEL: 'loud', SIGNET_HOTS: 'x' },
  });
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.deepEqual(stderr.trimEnd().split('\n').toSorted(), [
    '  SIGNET_HOTS is not a setting. Did you mean SIGNET_HOST?',
    '  SIGNET_LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud".',
    'The configuration has problems:',
  ]);
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

describe('npm run demo', () => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-demo-test-'));
  let printed = '';
  let exitCode: unknown;

  before(async () => {
    const child = spawn(process.execPath, ['scripts/demo.ts'], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 60_000,
    });
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk;
    });
    [exitCode] = await once(child, 'close');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('ends well', () => assert.equal(exitCode, 0));

  test('shows each request with its answer, in order', () => {
    const exchanges = [...printed.matchAll(/^(GET|POST) (\S+)[\s\S]*?^→ (\d+)/gm)];
    assert.deepEqual(
      exchanges.map(([, method, path, status]) => `${method} ${path?.replace(/agent_\w+/, ':id')} ${status}`),
      [
        'POST /api/agents 201',
        'POST /oauth/token 200',
        'POST /oauth/introspect 200',
        'GET /api/agents/me 200',
        'POST /oauth/revoke 200',
        'POST /oauth/introspect 200',
        'GET /api/agents/me 401',
        'POST /api/webhooks 201',
        'POST /api/agents/:id 200',
      ],
    );
    assert.match(printed, /jose: the signature, .* right/);
    assert.match(printed, /"active": true[\s\S]*"active": false/);
  });

  test('shows the event that the receiver got, its signature verified', () => {
    assert.match(
      printed,
      /standardwebhooks: the signature .* right[\s\S]*"type": "agent.credentials_rotated"/,
    );
  });

  test('prints no secret whole', () => {
    assert.match(printed, /"client_secret": "cs_\w{9}…"/);
    assert.match(printed, /"secret": "whsec_[\w+/]{6}…"/);
    assert.doesNotMatch(printed, /whsec_[\w+/]{7}|cs_\w{10}|rt_\w{10}|eyJ[\w-]{10}|Basic \S{13}[^…\s]/);
  });

  test('leaves nothing behind', () => assert.deepEqual(readdirSync(folder), []));
});

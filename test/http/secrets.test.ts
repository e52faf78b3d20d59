import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, basic, send, startService, type TestService } from '../harness.ts';

let service: TestService;
/** Every secret that came up, by what it is. */
const secrets = new Map<string, string>();
/** Every answer that was not the one that gives a secret out. */
const reads: string[] = [];

before(async () => {
  service = await startService();
  await driveEverything();
});
after(() => service.stop());

const keep = (name: string, secret: string): string => {
  secrets.set(name, secret);
  return secret;
};

async function read(...request: Parameters<TestService['call']>): Promise<void> {
  const { body, headers } = await service.call(...request);
  reads.push(JSON.stringify([body ?? null, [...headers]]));
}

async function driveEverything(): Promise<void> {
  keep('administrator password', ADMIN.password);
  const agent = await service.createAgent();
  keep('client secret', agent.clientSecret);
  const first = await service.tokens(agent);
  const second = await service.tokens(agent);
  for (const [name, token] of Object.entries({ ...first, other: second.accessToken })) keep(name, token);
  const webhook = { name: 'audit', url: 'https://receiver.test/' };
  const made = await service.call('POST', '/api/webhooks', { admin: true, json: webhook });
  keep('webhook secret', made.body.secret);
  await driveAdministration(agent.id, made.body.webhook.id);
  await driveMistakes(agent.clientId);
  await driveTokens(agent, first, second.accessToken);
}

async function driveAdministration(agentId: string, webhookId: string): Promise<void> {
  const admin = true;
  for (const path of [
    '/api/agents',
    `/api/agents/${agentId}`,
    '/api/webhooks',
    `/api/webhooks/${webhookId}`,
  ]) {
    await read('GET', path, { admin });
  }
  await read('GET', `/api/webhooks/${webhookId}/deliveries`, { admin });
  await read('PUT', `/api/webhooks/${webhookId}`, { admin, json: { name: 'renamed' } });
  await read('GET', '/api/keys', { admin });
  await read('POST', '/api/keys/rotate', { admin });
  const key = await service.call('POST', '/api/administrators/me/keys', { admin, json: { name: 'script' } });
  const bearer = keep('API key', key.body.secret);
  for (const path of ['me', 'me/keys', 'nobody'])
    await read('GET', `/api/administrators/${path}`, { bearer });
  await read('GET', '/api/administrators', { admin: { email: 'nobody@signet.test', password: bearer } });
  const second = { email: 'second@signet.test', role: 'viewer' };
  const added = await service.call('POST', '/api/administrators', { admin, json: second });
  keep('generated password', added.body.password);
  await read('GET', '/api/administrators', { bearer });
  const json = { action: 'rotate', grace_period_secs: 60 };
  const rotated = await service.call('POST', `/api/agents/${agentId}`, { admin, json });
  keep('rotated secret', rotated.body.client_secret);
}

/** Wrong requests that carry secrets, or what people mistake for them. */
async function driveMistakes(clientId: string): Promise<void> {
  const wrong = { email: ADMIN.email, password: keep('wrong password', 'a-wrong-but-telling-password') };
  await read('GET', '/api/agents', { admin: wrong });
  const secret = keep('wrong client secret', 'cs_wrong-but-telling-secret');
  const json = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
  await read('POST', '/oauth/token', { json });
  await read('POST', `/oauth/token?client_secret=${secret}`, { json });
  await read('POST', '/oauth/token', {
    headers: { authorization: basic(clientId, secret) },
    form: { scope: 'x' },
  });
  await read('POST', '/oauth/token', { json: { ...json, grant_type: secret } });
  await read('POST', '/oauth/token', {
    raw: { body: JSON.stringify(json).slice(1), contentType: 'application/json' },
  });
  await read('GET', '/api/agents/me', {
    bearer: keep('forged token', 'eyJhbGciOiJub25lIn0.e30.c2lnbmF0dXJl'),
  });
  await read('GET', `/nowhere?access_token=${secret}`);
}

async function driveTokens(
  agent: { clientId: string },
  tokens: { accessToken: string; refreshToken: string },
  revoked: string,
): Promise<void> {
  const bearer = tokens.accessToken;
  await read('GET', '/api/agents/me', { bearer });
  await read('GET', '/api/agents/me/usage', { bearer });
  await read('POST', '/oauth/introspect', { form: { token: bearer } });
  await read('POST', '/oauth/introspect', { form: { token: tokens.refreshToken } });
  const grant = { grant_type: 'refresh_token', refresh_token: tokens.refreshToken };
  const refreshed = await service.call('POST', '/oauth/refresh', { json: grant });
  keep('refreshed access token', refreshed.body.access_token);
  keep('refreshed refresh token', refreshed.body.refresh_token);
  await read('POST', '/oauth/refresh', { json: grant });
  await read('POST', '/oauth/revoke', { json: { token: revoked } });
  await read('POST', '/oauth/introspect', { form: { token: revoked } });
  await read('GET', '/api/agents/me', { bearer: revoked });
  await read('GET', `/api/agents?q=${agent.clientId}`, { admin: true });
}

test('no secret is in any log line, whole or as the header that carried it', () => {
  const log = service.logLines.join('\n');
  assert.ok(service.logLines.length > 20);
  assert.ok(secrets.size >= 13);
  for (const [name, secret] of secrets) {
    assert.equal(log.includes(secret), false, `the log holds the ${name}`);
    const encoded = Buffer.from(secret).toString('base64').replace(/=+$/, '');
    assert.equal(log.includes(encoded), false, `the log holds the ${name} as base64`);
  }
  assert.doesNotMatch(log, /Basic [A-Za-z0-9+/]{8}|Bearer [A-Za-z0-9]{8}/);
});

test('no secret is in any answer but the one that gave it out', () => {
  for (const [name, secret] of secrets) {
    assert.equal(
      reads.some((answer) => answer.includes(secret)),
      false,
      `an answer holds the ${name}`,
    );
  }
});

test('no answer tells of the inside of the service', () => {
  assert.doesNotMatch(reads.join('\n'), /\.ts\b|node_modules|node:|select .+ from|private_key|argon2/i);
});

test('GET /metrics: neither a secret nor an identifier is a label', async () => {
  const { body } = await send(service.url, 'GET', '/metrics');
  for (const [name, secret] of secrets) assert.equal(body.includes(secret), false, name);
  assert.doesNotMatch(body, /agent_0|cid_0|webhook_0/);
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { basic, type CallOptions, startService, type TestAgent, type TestService } from '../harness.ts';
import { assertRefused, clientCredentials, countsOf, credentialsOf, requestToken } from './requests.ts';

let service: TestService;
let agent: TestAgent;
before(async () => {
  service = await startService();
  agent = await service.createAgent();
});
after(() => service.stop());

const ask = (options: CallOptions) => service.call('POST', '/oauth/token', options);
const authorization = () => basic(agent.clientId, agent.clientSecret);
const formText = () => new URLSearchParams(clientCredentials(agent)).toString();
const form = (body: string | Uint8Array): CallOptions => ({
  raw: { body, contentType: 'application/x-www-form-urlencoded' },
});

test('POST /oauth/token 400: a missing field is named', async () => {
  for (const field of ['grant_type', 'client_id', 'client_secret']) {
    const { [field]: _, ...rest } = clientCredentials(agent) as Record<string, string>;
    for (const options of [{ json: rest }, { form: rest }]) {
      const answer = await ask(options);
      assertRefused(answer, 400, 'invalid_request');
      assert.match(answer.body.error_description, new RegExp(field));
    }
  }
});

test('POST /oauth/token 400: a request without any client is invalid_request', async () => {
  assertRefused(await ask({ json: { grant_type: 'client_credentials' } }), 400, 'invalid_request');
});

test('POST /oauth/token 400: no body is no request', async () => {
  assertRefused(await ask({}), 400, 'invalid_request');
  assertRefused(await ask(form('')), 400, 'invalid_request');
});

test('POST /oauth/token 400: fields of another type than string are named', async () => {
  for (const field of ['grant_type', 'client_id', 'client_secret', 'scope']) {
    for (const value of [1, true, null, ['read'], { a: 1 }]) {
      const answer = await requestToken(service, agent, { [field]: value });
      assertRefused(answer, 400, 'invalid_request');
      assert.match(answer.body.error_description, new RegExp(`^${field}`));
    }
  }
});

test('POST /oauth/token 400: a grant type that nobody offers is unsupported_grant_type', async () => {
  for (const grantType of ['password', 'authorization_code', 'CLIENT_CREDENTIALS', 'constructor']) {
    const answer = await requestToken(service, agent, { grant_type: grantType });
    assertRefused(answer, 400, 'unsupported_grant_type');
  }
});

test('POST /oauth/token: a parameter without a value counts as not sent', async () => {
  const granted = await requestToken(service, await service.createAgent(), { scope: '' });
  assert.equal(granted.body.scope, 'read write');
  for (const field of ['grant_type', 'client_id', 'client_secret']) {
    const answer = await requestToken(service, agent, { [field]: '' });
    assertRefused(answer, 400, 'invalid_request');
    assert.match(answer.body.error_description, new RegExp(`^${field}: it is missing`));
  }
});

test('POST /oauth/token 400: credentials in the header and in the body at once are refused', async () => {
  for (const more of [credentialsOf(agent), { client_secret: agent.clientSecret }]) {
    const json = { grant_type: 'client_credentials', ...more };
    assertRefused(await ask({ json, headers: { authorization: authorization() } }), 400, 'invalid_request');
  }
});

test('POST /oauth/token 400: another client_id beside HTTP Basic is refused', async () => {
  const json = { grant_type: 'client_credentials', client_id: 'cid_other' };
  assertRefused(await ask({ json, headers: { authorization: authorization() } }), 400, 'invalid_request');
});

test('POST /oauth/token 400: a repeated parameter is refused, known or unknown, equal or not', async () => {
  const repetitions = ['&grant_type=client_credentials', '&scope=read&scope=write', '&x=1&x=1', '&a=&%61='];
  for (const more of repetitions) {
    assertRefused(await ask(form(formText() + more)), 400, 'invalid_request');
  }
  const json = JSON.stringify(clientCredentials(agent));
  const doubled = `${json.slice(0, -1)},"client_id":${JSON.stringify(agent.clientId)}}`;
  const answer = await ask({ raw: { body: doubled, contentType: 'application/json' } });
  assertRefused(answer, 400, 'invalid_request');
});

test('POST /oauth/token 400: broken encodings are refused', async () => {
  const notUtf8 = Buffer.concat([Buffer.from(`${formText()}&scope=`), Buffer.of(0xff)]);
  for (const body of [`${formText()}&x=%`, `${formText()}&x=%zz`, `${formText()}&x=%ff`, notUtf8]) {
    assertRefused(await ask(form(body)), 400, 'invalid_request');
  }
  for (const more of ['&x=%00', '&%00=x', '&__proto__=x']) {
    assertRefused(await ask(form(formText() + more)), 400, 'invalid_request');
  }
});

test('POST /oauth/token 400: secrets in the query string are refused', async () => {
  for (const name of ['client_secret', 'refresh_token', 'token', 'access_token']) {
    const path = `/oauth/token?${name}=${agent.clientSecret}`;
    const answer = await service.call('POST', path, { json: clientCredentials(agent) });
    assertRefused(answer, 400, 'invalid_request');
    assert.match(answer.body.error_description, new RegExp(name));
  }
  assert.equal(service.logLines.join('\n').includes(agent.clientSecret), false);
});

test('POST /oauth/token 400: the query string is never read as the request', async () => {
  const query = new URLSearchParams({ grant_type: 'client_credentials', client_id: agent.clientId });
  assertRefused(await service.call('POST', `/oauth/token?${query}`), 400, 'invalid_request');
});

test('POST /oauth/token 413: a body over 64 KiB is refused', async () => {
  const answer = await requestToken(service, agent, { filler: 'x'.repeat(65_536) });
  assertRefused(answer, 413, 'payload_too_large');
});

test('POST /oauth/token 415: other content types are refused', async () => {
  for (const contentType of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x']) {
    const answer = await ask({ raw: { body: formText(), contentType } });
    assertRefused(answer, 415, 'unsupported_media_type');
  }
});

test('POST /oauth/token: refusals are never cached', async () => {
  const refusals = [
    ask({ json: {} }),
    ask(form('%')),
    ask({ raw: { body: 'x', contentType: 'text/plain' } }),
  ];
  for (const { headers } of await Promise.all(refusals)) {
    assert.equal(headers.get('cache-control'), 'no-store');
  }
});

test('GET /api/agents/:id 200: no refusal counted a token', async () => {
  assert.deepEqual(await countsOf(service, agent), { tokens: 0, refreshes: 0 });
});

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { createIds } from '../../src/ids.ts';
import { signatureHeaders } from '../../src/webhooks/signature.ts';
import { TestClock } from '../clock.ts';
import { ACCEPTED, REFUSED, verdicts } from './stock-verifiers.ts';

const ids = createIds(new TestClock());
const current = ids.newWebhookSecret();
const previous = ids.newWebhookSecret();
const stranger = ids.newWebhookSecret();
const signable = {
  eventId: ids.newId('evt'),
  timestamp: 1_800_000_000,
  body: '{"id":"evt_1","type":"agent.created","data":{"agent_name":"Zoë 🤖"}}',
};
const sign = (secrets: { current: string; previous: string | null }, body = signable.body) => ({
  headers: signatureHeaders({ ...signable, body }, secrets),
  body,
});
const alone = { current, previous: null };

test('the stock packages accept a request with the secret as it is handed out', async () => {
  assert.deepEqual(await verdicts(current, sign(alone)), ACCEPTED);
});

test('the stock packages accept any body', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      const body = JSON.stringify({ data: value });
      assert.deepEqual(await verdicts(current, sign(alone, body)), ACCEPTED);
    }),
    { numRuns: 30 },
  );
});

test('another secret is refused', async () => {
  assert.deepEqual(await verdicts(stranger, sign(alone)), REFUSED);
});

test('a body with one byte changed, added or taken away is refused', async () => {
  const { headers, body } = sign(alone);
  for (const changed of [body.replace('agent', 'Agent'), `${body} `, body.slice(0, -1)]) {
    assert.deepEqual(await verdicts(current, { headers, body: changed }), REFUSED, changed);
  }
});

test('another event id or timestamp is refused where they are signed', async () => {
  const { headers, body } = sign(alone);
  for (const other of [{ 'webhook-id': 'evt_other' }, { 'webhook-timestamp': '1800000001' }]) {
    const found = await verdicts(current, { headers: { ...headers, ...other }, body });
    assert.deepEqual(found, { ...REFUSED, octokit: true });
  }
});

test('while an old secret lives, either secret verifies alone', async () => {
  const { headers, body } = sign({ current, previous });
  assert.deepEqual(await verdicts(current, { headers, body }), ACCEPTED);
  const asBefore = { ...headers, 'x-webhook-signature-256': headers['x-webhook-previous-signature-256'] };
  assert.deepEqual(await verdicts(previous, { headers: asBefore, body }), ACCEPTED);
  assert.deepEqual(await verdicts(stranger, { headers, body }), REFUSED);
});

test('without an old secret there is one signature of each kind', () => {
  const { headers } = sign(alone);
  assert.equal('x-webhook-previous-signature-256' in headers, false);
  assert.match(headers['webhook-signature'] ?? '', /^v1,[A-Za-z0-9+/]{43}=$/);
});

test('the hexadecimal signature is the HMAC of the body, keyed by the text of the secret', () => {
  const { headers, body } = sign(alone);
  const expected = createHmac('sha256', Buffer.from(current, 'utf8')).update(body, 'utf8').digest('hex');
  assert.equal(headers['x-webhook-signature'], expected);
  assert.equal(headers['x-webhook-signature-256'], `sha256=${expected}`);
});

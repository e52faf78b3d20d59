import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, before, test } from 'node:test';
import { startService, type TestAgent, type TestService } from '../harness.ts';

let service: TestService;
let loud: TestAgent;
let quiet: TestAgent;
const connections = new Agent({ keepAlive: true });

before(async () => {
  service = await startService();
  [loud, quiet] = [await service.createAgent({ name: 'loud' }), await service.createAgent({ name: 'quiet' })];
});
after(async () => {
  connections.destroy();
  await service.stop();
});

/** By node:http: fetch would make the requests of this process wait for each other. */
function token({ clientId, clientSecret }: TestAgent): Promise<number> {
  const body = JSON.stringify({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  });
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const outgoing = request(
      `${service.url}/oauth/token`,
      { method: 'POST', headers, agent: connections },
      (answer) => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode ?? 0));
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

test('POST /oauth/token: a request waits behind few of the two hundred that another client sent before it', async () => {
  await Promise.all(Array.from({ length: 200 }, () => token(loud)));
  const places: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    let answered = 0;
    const hammering = Array.from({ length: 200 }, async () => {
      assert.equal(await token(loud), 200);
      answered += 1;
    });
    await new Promise(setImmediate);
    assert.equal(await token(quiet), 200);
    places.push(answered);
    await Promise.all(hammering);
  }
  // Without turns it is answered last or nearly so.
  const median = places.toSorted((a, b) => a - b)[1] ?? Number.POSITIVE_INFINITY;
  assert.ok(median < 60, `${places.join(', ')} of 200 were answered before it`);
});

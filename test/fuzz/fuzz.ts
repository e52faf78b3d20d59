import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import fc from 'fast-check';
import { send, startService, type TestService } from '../harness.ts';
import { createOpenapiCheck } from '../openapi-check.ts';
import { type FuzzRequest, operationsOf, requestsOf } from './requests.ts';
import { fillIn, makeThings, removeThings, secretsOf } from './things.ts';

export interface FuzzReport {
  requests: number;
  rounds: number;
  /** How many answers had each status. */
  statuses: Record<number, number>;
  /** The longest time for which nothing else was done, in milliseconds. */
  longestStall: number;
}

interface Options {
  seconds: number;
  /** Of the first round; each next one counts up. */
  seed: number;
}

interface Answer {
  status: number;
  contentType: string;
  text: string;
}

const REQUESTS_IN_A_ROUND = 40;
const AT_ONCE = 4;
const ANSWER_MILLISECONDS = 20_000;

/** Sends generated requests for a time; throws at the first answer that must not be, with the seed that makes it again. */
export async function fuzz({ seconds, seed }: Options): Promise<FuzzReport> {
  // With literal addresses and none of them public nothing leaves this machine.
  const service = await startService({ env: { SIGNET_WEBHOOK_TARGETS: 'public' } });
  const connections = new Agent({ keepAlive: true });
  const statuses: Record<number, number> = {};
  const report = { requests: 0, rounds: 0, statuses, longestStall: 0 };
  const stalls = monitorEventLoopDelay({ resolution: 5 });
  try {
    const { body: document } = await send(service.url, 'GET', '/openapi.json');
    const requests = requestsOf(operationsOf(document));
    const check = createOpenapiCheck(document);
    const end = performance.now() + seconds * 1000;
    do {
      const round = fc.sample(requests, { seed: seed + report.rounds, numRuns: REQUESTS_IN_A_ROUND });
      await playRound({ service, connections, check, statuses, stalls }, round).catch((error: unknown) => {
        throw new Error(`Seed ${seed + report.rounds}: ${String(error)}`, { cause: error });
      });
      report.rounds += 1;
      report.requests += round.length;
    } while (performance.now() < end);
    report.longestStall = stalls.max / 1e6;
    return report;
  } finally {
    stalls.disable();
    connections.destroy();
    await service.stop();
  }
}

interface Scene {
  service: TestService;
  connections: Agent;
  check: ReturnType<typeof createOpenapiCheck>;
  statuses: Record<number, number>;
  stalls: ReturnType<typeof monitorEventLoopDelay>;
}

async function playRound(scene: Scene, round: readonly FuzzRequest[]): Promise<void> {
  const { service } = scene;
  const things = await makeThings(service);
  const secrets = secretsOf(things);
  const left = round.map((request) => fillIn(request, things));
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await judge(scene, next, secrets);
  };
  // Making up the requests holds this process up too, and is not what is measured.
  scene.stalls.enable();
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  scene.stalls.disable();
  assert.equal((await service.call('GET', '/health')).status, 200);
  const log = service.logLines.splice(0).join('');
  for (const secret of secrets) assert.equal(log.includes(secret), false, 'the log holds a secret');
  assert.doesNotMatch(log, /"level":(50|60)/);
  await removeThings(service);
}

async function judge(
  { service, connections, check, statuses }: Scene,
  request: FuzzRequest,
  secrets: readonly string[],
): Promise<void> {
  const { method, path } = request;
  const what = JSON.stringify(request).slice(0, 2000);
  const answer = await exchange(service.url, connections, request);
  const { status, text } = answer;
  statuses[status] = (statuses[status] ?? 0) + 1;
  assert.ok(status < 500 || status === 503, `${status} for ${what}: ${text}`);
  for (const secret of secrets)
    assert.equal(text.includes(secret), false, `a secret in the answer to ${what}`);
  if (method === 'HEAD' || status === 302) return;
  const isJson = answer.contentType.startsWith('application/json');
  const body = text === '' ? undefined : isJson ? (JSON.parse(text) as unknown) : text;
  try {
    check({ method, path: path.split('?')[0] ?? path, status, contentType: answer.contentType, body });
  } catch (error) {
    throw new Error(`${String(error)} for ${what}`, { cause: error });
  }
}

function exchange(
  url: string,
  agent: Agent,
  { method, path, headers, body, isChunked }: FuzzRequest,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = body === null || isChunked ? {} : { 'content-length': Buffer.byteLength(body) };
    const options = { method, path, agent, timeout: ANSWER_MILLISECONDS, headers: { ...headers, ...length } };
    const outgoing = httpRequest(url, options, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        text += chunk;
      });
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          contentType: incoming.headers['content-type'] ?? '',
          text,
        }),
      );
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer to ${method} ${path.slice(0, 200)}`)));
    outgoing.on('error', reject);
    if (body !== null) outgoing.write(body);
    outgoing.end();
  });
}

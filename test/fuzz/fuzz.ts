import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';
import fc from 'fast-check';
import { adminEnv, type Child, childFolder, startChild } from '../child.ts';
import { send } from '../harness.ts';
import { createOpenapiCheck } from '../openapi-check.ts';
import { type FuzzRequest, operationsOf, requestsOf } from './requests.ts';
import { fillIn, makeThings, removeAll, secretsOf } from './things.ts';

export interface FuzzReport {
  requests: number;
  rounds: number;
  /** How many answers had each status. */
  statuses: Record<number, number>;
  /** The longest time for which nothing else was done, in milliseconds. */
  longestStall: number;
  /** Of the round in which that was. */
  stallSeed: number;
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

/**
 * Sends generated requests to the real program for a time; throws at the first answer that must not be, with the seed
 * that makes it again.
 */
export async function fuzz({ seconds, seed }: Options): Promise<FuzzReport> {
  const folder = childFolder();
  // With literal addresses and none of them public nothing leaves this machine.
  const child = await startChild({ folder, env: { ...adminEnv, SIGNET_WEBHOOK_TARGETS: 'public' } });
  const connections = new Agent({ keepAlive: true });
  const report: FuzzReport = { requests: 0, rounds: 0, statuses: {}, longestStall: 0, stallSeed: seed };
  try {
    const { body: document } = await send(child.url, 'GET', '/openapi.json');
    const requests = requestsOf(operationsOf(document));
    const scene = { child, connections, check: createOpenapiCheck(document), report, seed };
    const end = performance.now() + seconds * 1000;
    do {
      const round = fc.sample(requests, { seed: seed + report.rounds, numRuns: REQUESTS_IN_A_ROUND });
      await playRound(scene, round).catch((error: unknown) => {
        throw new Error(`Seed ${seed + report.rounds}: ${String(error)}`, { cause: error });
      });
      report.rounds += 1;
    } while (performance.now() < end);
    return report;
  } finally {
    connections.destroy();
    await folder.remove();
  }
}

interface Scene {
  child: Child;
  connections: Agent;
  check: ReturnType<typeof createOpenapiCheck>;
  report: FuzzReport;
  seed: number;
}

async function playRound(scene: Scene, round: readonly FuzzRequest[]): Promise<void> {
  const { child, report } = scene;
  const things = await makeThings(child.url);
  const secrets = secretsOf(things);
  const left = round.map((request) => fillIn(request, things));
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await judge(scene, next, secrets);
  };
  await stallSinceLastAsked(child.url);
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  report.requests += round.length;
  const stall = await stallSinceLastAsked(child.url);
  if (stall > report.longestStall) {
    report.longestStall = stall;
    report.stallSeed = scene.seed + report.rounds;
  }
  assert.equal((await send(child.url, 'GET', '/health')).status, 200);
  const log = child.output().stderr;
  for (const secret of secrets) assert.equal(log.includes(secret), false, 'the log holds a secret');
  assert.doesNotMatch(log, /"level":(50|60)/);
  await removeAll(child.url);
}

/** What `perf_hooks.monitorEventLoopDelay` has seen in the service, in milliseconds. */
async function stallSinceLastAsked(url: string): Promise<number> {
  const { body } = await send(url, 'GET', '/metrics');
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(body)?.[1] ?? Number.NaN) * 1000;
}

async function judge(
  { child, connections, check, report: { statuses } }: Scene,
  request: FuzzRequest,
  secrets: readonly string[],
): Promise<void> {
  const { method, path } = request;
  const what = JSON.stringify(request).slice(0, 2000);
  const answer = await exchange(child.url, connections, request);
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
    const length = isChunked
      ? { 'transfer-encoding': 'chunked' }
      : { 'content-length': Buffer.byteLength(body ?? '') };
    const framing = body === null ? {} : length;
    const options = {
      method,
      path,
      agent,
      timeout: ANSWER_MILLISECONDS,
      headers: { ...headers, ...framing },
    };
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
    outgoing.on('error', (cause) =>
      reject(
        new Error(
          `${cause.message} for ${method} ${path} ${JSON.stringify(headers)} ${body?.slice(0, 200)}`,
          { cause },
        ),
      ),
    );
    if (body !== null) outgoing.write(body);
    outgoing.end();
  });
}

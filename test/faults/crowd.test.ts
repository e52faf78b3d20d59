import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { askForToken } from '../changes.ts';
import { adminEnv, type Child, startChild } from '../child.ts';
import { send } from '../harness.ts';
import { until } from '../until.ts';
import { sqliteFolder } from './disk.ts';

const IDLE = 10_000;
const BUSY = 1000;
const REQUESTS = 3;
/** So many connections at once on their way: more than the system queues are lost and come again a second later. */
const AT_ONCE = 250;
/** A connection costs some twelve kilobytes of memory. */
const MOST_BYTES_EACH = 40_000;
const SPARE = 50;

const { folder } = sqliteFolder();
let child: Child;
before(async () => {
  const env = { ...adminEnv, SIGNET_MAX_CONNECTIONS: String(IDLE + BUSY + SPARE), SIGNET_LOG_LEVEL: 'error' };
  child = await startChild({ folder, env });
});
after(() => folder.remove());

/** A connection and what it is answered, one request after the other. */
interface Line {
  socket: Socket;
  ask(request: string): Promise<string>;
}

async function open(): Promise<Line> {
  const { hostname, port } = new URL(child.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.on('error', () => {});
  return {
    socket,
    async ask(request) {
      socket.write(request);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      return answer.toString('latin1');
    },
  };
}

async function openMany(count: number): Promise<Line[]> {
  const lines: Line[] = [];
  while (lines.length < count) {
    const batch = Array.from({ length: Math.min(AT_ONCE, count - lines.length) }, open);
    lines.push(...(await Promise.all(batch)));
  }
  return lines;
}

async function metric(name: string): Promise<number> {
  const { body } = await send(child.url, 'GET', '/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1]);
}

const IDLE_REQUEST = 'GET /livez HTTP/1.1\r\nhost: x\r\n\r\n';

const introspection = (token: string): string =>
  `POST /oauth/introspect HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: ${token.length + 6}\r\n\r\ntoken=${token}`;

async function livingToken(): Promise<string> {
  const { body } = await send(child.url, 'POST', '/api/agents', { admin: true, json: { name: 'crowd' } });
  return (await askForToken(child.url, { clientId: body.client_id }, body.client_secret)).body.access_token;
}

async function beBusy(line: Line, request: string): Promise<string[]> {
  const answers: string[] = [];
  for (let asked = 0; asked < REQUESTS; asked += 1) answers.push(await line.ask(request));
  return answers;
}

const limit = Number(execFileSync('sh', ['-c', 'ulimit -Hn']).toString().replace('unlimited', 'Infinity'));
const skip = limit < IDLE + BUSY + 500 && `${limit} file descriptors are too few for so many connections`;

test(`${IDLE} idle connections and ${BUSY} busy ones: all busy ones are answered, memory is bounded, and all of it comes back`, {
  skip,
}, async () => {
  const request = introspection(await livingToken());
  const [bytes, files] = [await metric('process_resident_memory_bytes'), await metric('process_open_fds')];
  const idle = await openMany(IDLE);
  for (let from = 0; from < IDLE; from += AT_ONCE) {
    const answers = await Promise.all(idle.slice(from, from + AT_ONCE).map(({ ask }) => ask(IDLE_REQUEST)));
    for (const answer of answers) assert.match(answer, /^HTTP\/1\.1 200 /);
  }
  const busy = await openMany(BUSY);
  const answers = (await Promise.all(busy.map((line) => beBusy(line, request)))).flat();
  const isServed = (answer: string) => answer.startsWith('HTTP/1.1 200 ') && answer.includes('"active":true');
  const refused = answers.filter((answer) => !isServed(answer));
  for (const answer of refused) assert.match(answer, /^HTTP\/1\.1 503 .+retry-after: \d/is);
  assert.ok(refused.length < answers.length / 2, `${refused.length} of ${answers.length}`);
  const each = ((await metric('process_resident_memory_bytes')) - bytes) / (IDLE + BUSY);
  assert.ok(each < MOST_BYTES_EACH, `${each} bytes for each connection`);
  assert.ok((await metric('process_open_fds')) >= IDLE);

  for (const { socket } of [...idle, ...busy]) socket.destroy();
  await until('all descriptors to come back', async () => (await metric('process_open_fds')) < files + SPARE);
  assert.equal((await send(child.url, 'GET', '/readyz')).status, 200);
  assert.equal((await child.kill('SIGTERM')).code, 0);
});

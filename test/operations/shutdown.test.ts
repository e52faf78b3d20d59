import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { adminEnv, type Child, childFolder, startChild } from '../child.ts';
import { ADMIN, basic, send } from '../harness.ts';
import { isOpen } from '../open-port.ts';

const folder = childFolder();
after(() => folder.remove());

const start = () => startChild({ folder, env: adminEnv });
const portOf = (child: Child) => Number(new URL(child.url).port);

interface Pending {
  socket: Socket;
  /** Sends the rest of the request and answers what came back, until the service closes the connection. */
  finish(): Promise<string>;
}

/** A request that the service has begun to handle and that is not whole yet. */
async function beginCreating(child: Child, name: string): Promise<Pending> {
  const body = JSON.stringify({ name });
  const socket = connect(portOf(child), '127.0.0.1');
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk;
  });
  socket.write(
    [
      'POST /api/agents HTTP/1.1',
      'host: signet.test',
      `authorization: ${basic(ADMIN.email, ADMIN.password)}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      'expect: 100-continue',
      '\r\n',
    ].join('\r\n'),
  );
  while (!received.includes('100 Continue')) await once(socket, 'data');
  socket.write(body.slice(0, 5));
  return {
    socket,
    async finish() {
      socket.write(body.slice(5));
      await once(socket, 'close');
      return received;
    },
  };
}

async function untilNewConnectionsAreRefused(child: Child): Promise<void> {
  while (await isOpen(portOf(child))) await turn();
}

async function agentNames(child: Child): Promise<string[]> {
  const { body } = await send(child.url, 'GET', '/api/agents', { admin: true });
  return body.agents.map((agent: { name: string }) => agent.name);
}

for (const signals of [['SIGTERM'], ['SIGINT'], ['SIGTERM', 'SIGTERM'], ['SIGINT', 'SIGTERM']] as const) {
  const name = signals.join(' and ');

  test(`${name}: new connections are refused, the request in flight is finished, the exit code is 0`, async () => {
    const child = await start();
    const pending = await beginCreating(child, name);
    child.process.kill(signals[0]);
    await untilNewConnectionsAreRefused(child);
    if (signals[1] !== undefined) child.process.kill(signals[1]);
    const answer = await pending.finish();
    assert.match(answer, /HTTP\/1\.1 201 Created/);
    const { code, signal } = await child.exited;
    assert.deepEqual([code, signal], [0, null]);
  });
}

test('SIGHUP does not end one process; what was answered during a stop is there after the next start', async () => {
  const child = await start();
  child.process.kill('SIGHUP');
  assert.deepEqual((await agentNames(child)).toSorted(), [
    'SIGINT',
    'SIGINT and SIGTERM',
    'SIGTERM',
    'SIGTERM and SIGTERM',
  ]);
  const { code, stderr } = await child.kill('SIGTERM');
  assert.equal(code, 0);
  assert.match(stderr, /SIGHUP is ignored/);
});

test('SIGTERM: idle connections do not hold up the stop', async () => {
  const child = await start();
  const idle = connect(portOf(child), '127.0.0.1');
  await once(idle, 'connect');
  await send(child.url, 'GET', '/livez');
  const { code } = await child.kill('SIGTERM');
  idle.destroy();
  assert.equal(code, 0);
});

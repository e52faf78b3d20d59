import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { adminEnv, childFolder, startChild } from '../child.ts';
import { send } from '../harness.ts';

/** Of the loopback network, and nobody's. */
const NAME_SERVER = '127.77.0.53';
/** Longer than a stop may take: one that waited for it would be cut short. */
const RESOLVER = `nameserver ${NAME_SERVER}\noptions timeout:11 attempts:1\n`;
const WITH_RESOLVER = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';

const folder = childFolder();
after(() => folder.remove());

const isAllowed =
  spawnSync('unshare', ['--mount', 'mount', '--bind', '/etc/hostname', '/etc/hostname']).status === 0;
const skip = isAllowed ? false : 'a resolver of its own needs the right to mount (root on Linux)';

test('a stop is as orderly as ever where no name server answers', { skip }, async (t) => {
  const nameServer = await silentNameServer();
  t.after(() => nameServer.close());
  const resolver = join(folder.path, 'resolv.conf');
  writeFileSync(resolver, RESOLVER);
  const through = ['unshare', '--mount', 'sh', '-c', WITH_RESOLVER, resolver];
  const child = await startChild({ folder, env: adminEnv, through });
  const create = (path: string, json: object) => send(child.url, 'POST', path, { admin: true, json });
  const hook = { name: 'nowhere', url: 'http://receiver.example/', events: ['agent.created'] };
  await create('/api/webhooks', hook);
  const asked = once(nameServer, 'message');
  await create('/api/agents', { name: 'a program' });
  await asked;
  const exit = await child.kill('SIGTERM');
  assert.deepEqual([exit.code, exit.signal], [0, null], exit.stderr);
});

/** Hears and says nothing. */
async function silentNameServer(): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.bind(53, NAME_SERVER);
  await once(socket, 'listening');
  return socket;
}

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';

/** What becomes of bytes on their way, in both directions. */
type Flow = 'open' | 'stalled' | 'shut' | { delayMilliseconds: number };

/** Stands between the service and its database. */
export interface Wire {
  port: number;
  /**
   * Stalled: connections are taken, and nothing comes of them until the way is open again. Shut: they are broken as they
   * come.
   */
  set(flow: Flow): void;
  /** Breaks every connection, without a word. */
  cut(): void;
  close(): Promise<void>;
}

export async function startWire(target: { host: string; port: number }): Promise<Wire> {
  const sockets = new Set<Socket>();
  let flow: Flow = 'open';
  let opened = Promise.resolve();
  let open = () => {};

  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => {});
    return socket.once('close', () => sockets.delete(socket));
  };
  const onTheWay = () =>
    new Transform({
      async transform(chunk, _encoding, done) {
        if (typeof flow === 'object') await wait(flow.delayMilliseconds);
        while (flow === 'stalled') await opened;
        done(null, chunk);
      },
    });
  const server = createServer((inward) => {
    if (flow === 'shut') return void inward.resetAndDestroy();
    const outward = track(connect(target));
    track(inward).pipe(onTheWay()).pipe(outward);
    outward.pipe(onTheWay()).pipe(inward);
    inward.once('close', () => outward.destroy());
    outward.once('close', () => inward.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const wire: Wire = {
    port: (server.address() as AddressInfo).port,
    set(next) {
      if (next === 'stalled') {
        opened = new Promise((resolve) => {
          open = resolve;
        });
      }
      flow = next;
      if (next !== 'stalled') open();
    },
    cut() {
      for (const socket of sockets) reset(socket);
    },
    async close() {
      wire.set('open');
      wire.cut();
      server.close();
      await once(server, 'close');
    },
  };
  return wire;
}

/** A reset amid the end of a connection fails, and Node would wait for it for ever when the process is to end. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

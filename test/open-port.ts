import type { ChildProcess } from 'node:child_process';
import { connect } from 'node:net';
import { until } from './until.ts';

/** Whether something listens there, on loopback. */
export function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Until the server listens there; the error tells what it said where it ended before. */
export async function untilOpen(port: number, server: ChildProcess, said = () => ''): Promise<void> {
  await until('a server that listens', async () => {
    if (await isOpen(port)) return true;
    if (server.exitCode !== null) throw new Error(`The server ended before it listened. ${said()}`);
    return false;
  });
}

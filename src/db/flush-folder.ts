import { closeSync, fsyncSync, openSync } from 'node:fs';

/** The name of a new file is as durable as its folder. On Windows there is nothing to be done for it. */
export function flushFolder(path: string): void {
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  fsyncSync(folder);
  closeSync(folder);
}

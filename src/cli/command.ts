import type { Readable, Writable } from 'node:stream';
import { type Clock, systemClock } from '../clock.ts';
import { type Config, loadConfig } from '../config.ts';
import { createIds, type Ids } from '../ids.ts';

/** What the commands have of the process around them. */
export interface CommandDeps {
  loadConfig(): Config;
  clock: Clock;
  ids: Ids;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable;
  stderr: Writable;
}

export function depsOfProcess(): CommandDeps {
  const { stdin, stdout, stderr } = process;
  return { loadConfig, clock: systemClock, ids: createIds(systemClock), stdin, stdout, stderr };
}

/** What a command has done: told to people, and as the one document that `--json` prints. */
export interface Outcome {
  text: string;
  json: object;
}

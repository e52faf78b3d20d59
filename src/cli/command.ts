import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Ids } from '../ids.ts';

/** What the commands have of the process around them. */
export interface CommandDeps {
  loadConfig(): Config;
  clock: Clock;
  ids: Ids;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable;
  stderr: Writable;
}

/** What a command has done: told to people, and as the one document that `--json` prints. */
export interface Outcome {
  text: string;
  json: object;
}

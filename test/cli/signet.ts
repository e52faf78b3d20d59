import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { CommandDeps } from '../../src/cli/command.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import { systemClock } from '../../src/clock.ts';
import { toConfig } from '../../src/config.ts';
import { createIds } from '../../src/ids.ts';
import type { ChildFolder } from '../child.ts';
import type { TestService } from '../harness.ts';

type Env = Record<string, string>;

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** The settings of commands beside a service of this process. */
export const envBeside = ({ dataDir, databaseEnv }: TestService): Env => ({
  SIGNET_DATA_DIR: dataDir,
  ...databaseEnv,
});

/** The settings that a child would have in the folder. */
export const envIn = async (folder: ChildFolder): Promise<Env> => ({
  SIGNET_DATA_DIR: join(folder.path, 'data'),
  ...(await folder.database()).env,
});

/**
 * Runs one command as `main.ts` does, but in this process, which saves its start. What only a process has, its exit,
 * its streams and its working folder, is for tests with `runChild`.
 */
export const signet = (env: Env, ...given: string[]): Promise<Ended> =>
  signetReading({ stdin: Readable.from([]) }, env, given);

/** With something on its standard input, and somebody who reads along what it says to people. */
export async function signetReading(
  { stdin, onTold = () => {} }: { stdin: CommandDeps['stdin']; onTold?: (text: string) => void },
  env: Env,
  given: readonly string[],
): Promise<Ended> {
  const [stdout, stderr] = [new Printed(), new Printed(onTold)];
  const code = await runCommandLine(
    {
      loadConfig: () => toConfig(env),
      clock: systemClock,
      ids: createIds(systemClock),
      stdin,
      stdout,
      stderr,
    },
    given,
  );
  return { code, stdout: stdout.text, stderr: stderr.text };
}

class Printed extends Writable {
  text = '';
  readonly #onPrinted: (text: string) => void;

  constructor(onPrinted: (text: string) => void = () => {}) {
    super();
    this.#onPrinted = onPrinted;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk;
    this.#onPrinted(String(chunk));
    done();
  }
}

/** What a command that succeeds prints with `--json`. */
// biome-ignore lint/suspicious/noExplicitAny: tests read members of documents and fail where they are missing
export async function signetJson(env: Env, ...given: string[]): Promise<any> {
  const { code, stdout, stderr } = await signet(env, ...given, '--json');
  assert.deepEqual([code, stderr], [0, ''], stdout);
  return JSON.parse(stdout);
}

/** Runs a command that must fail, with and without `--json`, and holds what it says against the expected. */
export async function assertFails(
  env: Env,
  given: readonly string[],
  expected: { code: number; error: string; sentence: RegExp },
): Promise<void> {
  const told = await signet(env, ...given);
  assert.deepEqual([told.code, told.stdout], [expected.code, '']);
  assert.match(told.stderr, expected.sentence);
  const { code, stdout, stderr } = await signet(env, ...given, '--json');
  const { error, error_description } = JSON.parse(stdout);
  assert.deepEqual([code, stderr, error], [expected.code, '', expected.error]);
  assert.match(error_description, expected.sentence);
}

import assert from 'node:assert/strict';
import { type ChildFolder, type Exit, runChild } from '../child.ts';

/** Runs one command in the folder, where its data is too. */
export const signet = (folder: ChildFolder, ...given: string[]): Promise<Exit> =>
  runChild({ folder, arguments: given });

/** What a command that succeeds prints with `--json`. */
// biome-ignore lint/suspicious/noExplicitAny: tests read members of documents and fail where they are missing
export async function signetJson(folder: ChildFolder, ...given: string[]): Promise<any> {
  const { code, stdout, stderr } = await signet(folder, ...given, '--json');
  assert.deepEqual([code, stderr], [0, ''], stdout);
  return JSON.parse(stdout);
}

/** Runs a command that must fail, with and without `--json`, and holds what it says against the expected. */
export async function assertFails(
  folder: ChildFolder,
  given: readonly string[],
  expected: { code: number; error: string; sentence: RegExp },
): Promise<void> {
  const told = await signet(folder, ...given);
  assert.deepEqual([told.code, told.stdout], [expected.code, '']);
  assert.match(told.stderr, expected.sentence);
  const { code, stdout, stderr } = await signet(folder, ...given, '--json');
  const { error, error_description } = JSON.parse(stdout);
  assert.deepEqual([code, stderr, error], [expected.code, '', expected.error]);
  assert.match(error_description, expected.sentence);
}

import { Option } from 'commander';
import type { CommandDeps, Outcome } from './command.ts';

export const json = (): Option => new Option('--json', 'print one JSON document');

/** Says what was done, in the form that was asked for. */
export async function report(
  { stdout }: CommandDeps,
  options: { json?: true },
  doing: Promise<Outcome>,
): Promise<void> {
  const { text, json: document } = await doing;
  stdout.write(options.json ? `${JSON.stringify(document)}\n` : text);
}

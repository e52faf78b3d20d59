import { createInterface, type Interface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { generatePassword } from '../admin/password.ts';
import type { CommandDeps } from './command.ts';
import { CommandFailure } from './failure.ts';

/** Never an argument: the list of processes shows those to everybody on the machine. */
export type PasswordSource = 'stdin' | 'generate' | 'ask';

type Deps = Pick<CommandDeps, 'stdin' | 'stderr'>;

/** `generated` is the password where it was made here and somebody has to be told. */
export async function choosePassword(
  deps: Deps,
  source: PasswordSource,
): Promise<{ password: string; generated: string | null }> {
  if (source === 'stdin') return { password: await readAll(deps), generated: null };
  if (source === 'ask') return { password: await askTwice(deps), generated: null };
  const password = generatePassword();
  return { password, generated: password };
}

/** All of it but the line break that `echo` and editors put at the end. */
async function readAll({ stdin }: Deps): Promise<string> {
  return (await text(stdin)).replace(/\r?\n$/, '');
}

async function askTwice(deps: Deps): Promise<string> {
  if (deps.stdin.isTTY !== true) {
    throw new CommandFailure(
      'invalid_usage',
      'There is no terminal to ask for the password on. Use --password-stdin or --generate.',
    );
  }
  const password = await withSilentLines(deps, async (ask) => {
    const first = await ask('Password: ');
    return (await ask('Again: ')) === first ? first : null;
  });
  if (password !== null) return password;
  throw new CommandFailure('invalid_request', 'The two passwords differ. Nothing was changed.');
}

/** Lines typed on a terminal that shows none of it: what the editor of lines would echo goes nowhere. */
async function withSilentLines<T>(
  { stdin, stderr }: Deps,
  use: (ask: (prompt: string) => Promise<string>) => Promise<T>,
): Promise<T> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
  try {
    return await use(async (prompt) => {
      stderr.write(prompt);
      try {
        return await Promise.race([lines.question(''), closed(lines)]);
      } catch {
        throw new CommandFailure('invalid_request', 'No password was given. Nothing was changed.');
      } finally {
        stderr.write('\n');
      }
    });
  } finally {
    lines.close();
  }
}

/** Ctrl-C and Ctrl-D. */
function closed(lines: Interface): Promise<never> {
  return new Promise((_resolve, reject) => {
    lines.once('close', () => reject(new Error('The line was given up.')));
  });
}

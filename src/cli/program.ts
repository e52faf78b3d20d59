import { Command, CommanderError, InvalidArgumentError } from 'commander';
import type { Link } from '../audit/chain.ts';
import { version } from '../version.ts';
import { addAdminCommands } from './admin-program.ts';
import type { CommandDeps } from './command.ts';
import { exitCodes, toFailure } from './failure.ts';
import { json, report } from './report.ts';

/** What a command needs is loaded when it runs: help is quick, and a process that supervises others stays small. */
const load = {
  audit: () => import('./audit.ts'),
  backup: () => import('./backup.ts'),
  copy: () => import('./copy.ts'),
  keys: () => import('./keys.ts'),
  migrate: () => import('./migrate.ts'),
  serve: () => import('./serve.ts'),
};

const epilogue = `
Exit codes:
${Object.entries(exitCodes)
  .map(([code, meaning]) => `  ${code}  ${meaning}`)
  .join('\n')}

Settings are environment variables, or lines of a .env file in the working folder; docs/configuration.md lists them.
docs/cli.md has an example of each command.`;

/** Runs what the command line says and answers the exit code. A service that was started runs on after that. */
export async function runCommandLine(deps: CommandDeps, given: readonly string[]): Promise<number> {
  try {
    await createProgram(deps).parseAsync(given.length === 0 ? ['--help'] : given, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    return reportFailure(deps, error, given.includes('--json'));
  }
}

/** All commands, with what `--help` and docs/cli.md say of them. */
export function createProgram(deps: CommandDeps): Command {
  const program = new Command('signet')
    .description('Machine identities and tokens.')
    .version(version, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'explain this command')
    .helpCommand('help [command]', 'explain a command')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => deps.stdout.write(text),
      writeErr: (text) => deps.stderr.write(text),
      outputError: () => {},
    })
    .addHelpText('after', epilogue);
  addServiceCommands(program, deps);
  addAdminCommands(program.command('admin').description('Administrators, their roles and passwords.'), deps);
  addKeyCommands(program.command('keys').description('The keys that sign tokens.'), deps);
  addAuditCommands(program.command('audit').description('The log of who did what.'), deps);
  return program;
}

function addServiceCommands(program: Command, deps: CommandDeps): void {
  program
    .command('serve')
    .description('Run the service until SIGTERM or SIGINT.')
    .action(() => load.serve().then(({ serve }) => serve(deps)));
  program
    .command('migrate')
    .description('Bring the tables of the database up to this version; serve does it too.')
    .option('--check', 'change nothing, and fail where something is missing')
    .addOption(json())
    .action((options: { check?: true; json?: true }) =>
      report(
        deps,
        options,
        load
          .migrate()
          .then(({ checkUpToDate, bringUpToDate }) =>
            options.check ? checkUpToDate(deps) : bringUpToDate(deps),
          ),
      ),
    );
  program
    .command('backup')
    .description('Copy the SQLite database to a file, also while the service runs.')
    .argument('<file>', 'where the copy goes')
    .option('--force', 'replace the file where it exists')
    .addOption(json())
    .action((file: string, options: { force?: true; json?: true }) =>
      report(
        deps,
        options,
        load.backup().then(({ backUp }) => backUp(deps, { file, isForced: options.force === true })),
      ),
    );
  program
    .command('copy')
    .description(
      'Carry everything to another, empty database: from SQLite to PostgreSQL, back, or to the same kind.',
    )
    .argument('<from>', 'path, sqlite:PATH or postgres://…; stop every service on it first')
    .argument('<to>', 'path, sqlite:PATH or postgres://…; made, or given its tables, where that is needed')
    .addOption(json())
    .action((from: string, to: string, options: { json?: true }) =>
      report(
        deps,
        options,
        load.copy().then(({ copy }) => copy(deps, { from, to })),
      ),
    );
}

function addKeyCommands(keys: Command, deps: CommandDeps): void {
  keys
    .command('list')
    .description('List the signing keys; the private parts are never shown.')
    .addOption(json())
    .action((options: { json?: true }) =>
      report(
        deps,
        options,
        load.keys().then(({ listSigningKeys }) => listSigningKeys(deps)),
      ),
    );
  keys
    .command('rotate')
    .description('Let the next signing key take over; tokens of the one before stay valid.')
    .addOption(json())
    .action((options: { json?: true }) =>
      report(
        deps,
        options,
        load.keys().then(({ rotateSigningKey }) => rotateSigningKey(deps)),
      ),
    );
}

function addAuditCommands(audit: Command, deps: CommandDeps): void {
  audit
    .command('verify')
    .description('Check that no entry was changed or removed, also while the service runs.')
    .option('--head <position:hash>', 'a head that was noted earlier and must be in the log still', toHead)
    .addOption(json())
    .action((options: { head?: Link; json?: true }) =>
      report(
        deps,
        options,
        load.audit().then(({ verifyAuditLog }) => verifyAuditLog(deps, options.head ?? null)),
      ),
    );
}

function toHead(text: string): Link {
  const [, position, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (position !== undefined && hash !== undefined) return { position: Number(position), hash };
  throw new InvalidArgumentError('It must be a position, a colon and a hash of 64 hexadecimal digits.');
}

function reportFailure({ stdout, stderr }: CommandDeps, error: unknown, isJson: boolean): number {
  const { code, exitCode, description, details } = toFailure(error);
  const isExplained = error instanceof CommanderError && error.code === 'commander.help';
  if (isJson) {
    stdout.write(`${JSON.stringify({ error: code, error_description: description, ...details })}\n`);
  } else if (!isExplained) stderr.write(`${description}\n`);
  return exitCode;
}

import { parseArgs } from 'node:util';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { DatabaseUnusable } from './db/database.ts';
import { createService, type Service } from './service.ts';
import { version } from './version.ts';

const usage = `signet ${version}: machine identities and tokens

  signet [serve]     run the service
  signet --version   print the version
  signet --help      print this

Settings are environment variables; docs/configuration.md lists them.`;

/** A stop that takes longer than this is cut short, so that an orchestrator never has to. */
const STOP_MILLISECONDS = 10_000;

class UsageError extends Error {}

await main().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
});

async function main(): Promise<void> {
  const { values, positionals } = readArguments();
  if (values.help) return print(usage);
  if (values.version) return print(version);
  if (positionals.length > 1 || (positionals[0] ?? 'serve') !== 'serve') throw new UsageError();
  await serve(loadConfig());
}

async function serve(config: Config): Promise<void> {
  // What is made in the data folder is for this user alone, also where the folder was there before.
  process.umask(0o077);
  const service = await createService(config);
  stopOnSignals(service);
  await service.start();
  print(greeting(config, service));
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } },
    });
  } catch {
    throw new UsageError();
  }
}

function stopOnSignals(service: Service): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // Not once: npm passes on what the terminal has sent already, and the second must not cut the stop short.
    process.on(signal, () => {
      setTimeout(() => process.exit(1), STOP_MILLISECONDS).unref();
      service.stop().then(
        () => process.exit(0),
        (error: unknown) => {
          process.stderr.write(`${explain(error)}\n`);
          process.exit(1);
        },
      );
    });
  }
}

function greeting(config: Config, { administrator }: Service): string {
  const { email, generatedPassword } = administrator;
  const origin = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${config.port}`;
  // Without a password curl asks for it, so the line works either way.
  const user = generatedPassword === null ? email : `${email}:${generatedPassword}`;
  return `
Signet ${version} listens on ${origin}

  Administrator   ${email}
  Password        ${generatedPassword === null ? 'as set when the administrator was made' : `${generatedPassword}   (shown this once)`}
  Documentation   ${origin}/docs

Make a first agent:

  curl -u ${quoted(user)} ${origin}/api/agents \\
    -H 'content-type: application/json' -d '{"name":"my-first-agent"}'
`;
}

/** For a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function explain(error: unknown): string {
  if (error instanceof UsageError) return usage;
  if (error instanceof ConfigError)
    return `The configuration has problems:\n  ${error.problems.join('\n  ')}`;
  if (error instanceof DatabaseUnusable) return error.message;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EADDRINUSE') return 'The port is in use. Stop what listens there, or set SIGNET_PORT.';
  if (code === 'EADDRNOTAVAIL') return 'SIGNET_HOST is not an address of this machine.';
  if (code === 'EACCES') return `Permission denied: ${(error as Error).message}`;
  return `Signet cannot start: ${error instanceof Error ? error.message : String(error)}`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

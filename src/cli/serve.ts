import type { Config } from '../config.ts';
import { createService, type Service } from '../service.ts';
import { version } from '../version.ts';
import type { CommandDeps } from './command.ts';
import { toFailure } from './failure.ts';

/** A stop that takes longer than this is cut short, so that an orchestrator never has to. */
const STOP_MILLISECONDS = 10_000;

/** Resolves once the service listens; a signal ends the process. */
export async function serve({ loadConfig, stdout }: CommandDeps): Promise<void> {
  const config = loadConfig();
  const service = await createService(config);
  stopOnSignals(service);
  await service.start();
  stdout.write(greeting(config, service));
}

function stopOnSignals(service: Service): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // Not once: npm passes on what the terminal has sent already, and the second must not cut the stop short.
    process.on(signal, () => {
      setTimeout(() => process.exit(1), STOP_MILLISECONDS).unref();
      service.stop().then(
        () => process.exit(0),
        (error: unknown) => {
          process.stderr.write(`${toFailure(error).description}\n`);
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

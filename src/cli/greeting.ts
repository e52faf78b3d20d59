import type { Config } from '../config.ts';
import type { Service } from '../service.ts';
import { version } from '../version.ts';

/** What a person sees who has started the service. */
export function greeting(config: Config, { email, generatedPassword }: Service['administrator']): string {
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

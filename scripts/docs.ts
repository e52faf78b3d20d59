import { writeFileSync } from 'node:fs';
import { errorCatalogue } from '../src/errors.ts';
import { settings } from '../src/settings.ts';
import { commandLinePage } from './cli-page.ts';
import { page, table } from './page.ts';

/** The pages that are made from tables in the code, by path. `npm run docs` writes them. */
export function generatedPages(): Record<string, string> {
  return {
    'docs/cli.md': commandLinePage(),
    'docs/configuration.md': configurationPage(),
    'docs/errors.md': errorsPage(),
  };
}

function configurationPage(): string {
  const rows = Object.entries(settings).map(([name, { fallback, shape, about }]) => [
    `\`${name}\``,
    fallback === null ? '—' : `\`${fallback}\``,
    shape,
    about,
  ]);
  return page(
    'Configuration',
    'src/settings.ts',
    `Settings are environment variables. A \`.env\` file in the working folder is read too; what the environment sets
wins over it.

The service checks all settings before it does anything else. A value that cannot be used, or a name beginning with
\`SIGNET_\` that is not in this table, stops the start: every problem is printed, a line each, and the exit code is 1.
Where the default is a dash, the meaning says what holds instead.

${table(['Name', 'Default', 'Value', 'Meaning'], rows)}

One variable has another name. \`UV_THREADPOOL_SIZE\` is the number of threads that sign tokens, hash passwords, resolve
names and read files. Node reads it once, as it starts; \`npm start\` sets it to the number of cores plus two, and to four
at least, where you have not set it.`,
  );
}

function errorsPage(): string {
  const rows = Object.entries(errorCatalogue).map(([code, { status, when, fix, source }]) => [
    `\`${code}\``,
    String(status),
    when,
    fix,
    source,
  ]);
  return page(
    'Errors',
    'src/errors.ts',
    `Every failure of every path is JSON with two strings:

\`\`\`json
{ "error": "invalid_client", "error_description": "The client is unknown, its secret is wrong, or the agent is not active." }
\`\`\`

Programs decide by \`error\`, which is one of the codes below. \`error_description\` is for people and may change. The
\`x-request-id\` header of the answer is what the log lines of the request carry as \`reqId\`. A request that is not valid
HTTP, or whose URL cannot be decoded, gets the same body without that header.

${table(['Code', 'Status', 'When', 'What to do', 'Source'], rows)}

Introspecting a token that is not active is no error: the answer is 200 with \`"active": false\` and a \`reason\`. See
[tokens](tokens.md#introspection).`,
  );
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(generatedPages())) {
    writeFileSync(new URL(`../${path}`, import.meta.url), text);
  }
}

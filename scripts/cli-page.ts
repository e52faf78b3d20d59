import type { Command } from 'commander';
import { depsOfProcess } from '../src/cli/command.ts';
import { exitCodes, failureCodes } from '../src/cli/failure.ts';
import { createProgram } from '../src/cli/program.ts';
import { page, table } from './page.ts';

/** What the page says of a command beyond what `--help` does. */
interface Notes {
  example: string;
  text?: string;
}

const passwordNotes = `Without an option the password is asked for on the terminal, two times, and not shown. It is never an argument, since every
user of the machine can read those.`;

const notes: Readonly<Record<string, Notes>> = {
  'signet serve': {
    example: 'npx signet serve',
    text: 'Prints where it listens and, at the first start, the password of the administrator that it made. `npm start` is the same.',
  },
  'signet migrate': {
    example: `$ npx signet migrate --check
Not applied yet: 0002_delivery_engine.
$ npx signet migrate
Applied 0002_delivery_engine.`,
    text: `\`serve\` does this at its start, so you need it only where you want it done, or checked, apart from that. Where something
is missing, the service must not run on the SQLite file; where nothing is, it may.`,
  },
  'signet backup': {
    example: `$ npx signet backup /backups/signet-monday.db
Copied /srv/signet/data/signet.db to /backups/signet-monday.db: 208,896 bytes, checked.
The master key is not in it, and without that key the copy cannot be used. Keep a copy of the key, in another place.`,
    text: `The copy is the database as it was at one moment: whatever was answered before the command began is in it. It is written
under another name beside the target, checked (\`pragma integrity_check\`), flushed and only then given its name, with mode 0600.
To use it, stop the service, remove \`signet.db\`, \`signet.db-wal\` and \`signet.db-shm\`, put the copy in the place of
\`signet.db\`, and start the service with the master key that it had. For PostgreSQL, use \`pg_dump\`.`,
  },
  'signet copy': {
    example: `$ npx signet copy data/signet.db postgres://signet@db.example/signet
Copied /srv/signet/data/signet.db to postgres://db.example:5432/signet. Both sides were read and are the same:

TABLE              ROWS   SHA-256
service_metadata   1      6f0c3f8e…
administrators     2      90d1b7a4…
…

Nothing that was written to the old database after 2026-11-21T10:40:59.343Z is in the new one.
The master key is not copied. A service on the new database needs the same key, and the same SIGNET_PUBLIC_URL:
  SIGNET_MASTER_KEY  "$(cat '/srv/signet/data/master.key')"`,
    text: `[Moving](moving.md) goes through it step by step. The target is written in one transaction, read back, compared with the
source and only then committed: a copy that fails or is killed leaves nothing. It is refused on a target with rows, on tables
that are not those of this version, on a SQLite file that a service uses, and where the master key can be had and is not the one
of the source.

Where the URL has no password, the variables and files of libpq are asked: \`PGPASSWORD\`, or \`PGPASSFILE\` and \`~/.pgpass\`.
Use them: every user of the machine can read the arguments of a command.

With \`--json\`, \`tables\` has the name, the \`rows\` and the \`sha256\` of each table.`,
  },
  'signet admin add': {
    example: `$ npx signet admin add second@signet.example --generate
Added second@signet.example, owner.

  Password   Kt8TL9oBVE4mls3DzXwWA2D0   (shown this once)`,
    text: `[Administrators](administrators.md) says what each role may do. The first one is an owner.

${passwordNotes}`,
  },
  'signet admin password': {
    example: `$ npx signet admin password admin@localhost
Password:
Again:
Changed the password of admin@localhost.`,
    text: `For a password that was lost, too: no old one is asked for.

${passwordNotes}`,
  },
  'signet admin list': {
    example: `$ npx signet admin list
EMAIL            ROLE   ORGANIZATION  CREATED                   ID
admin@localhost  owner  -             2026-11-21T10:40:59.343Z  admin_01m7yv3vx1egbb67qk55yr1sd5`,
  },
  'signet admin role': {
    example: `$ npx signet admin role second@signet.example operator
Now second@signet.example, operator.`,
    text: 'It holds from the next request on, for API keys too.',
  },
  'signet admin bind': {
    example: `$ npx signet admin bind second@signet.example org_01m7yv3vx1egbb67qk55yr1sd5
Now second@signet.example, operator of org_01m7yv3vx1egbb67qk55yr1sd5.`,
    text: `It holds from the next request on, for API keys too. [Administrators](administrators.md#bound-to-one-organization) says what
is left to them.`,
  },
  'signet admin unbind': {
    example: `$ npx signet admin unbind second@signet.example
Now second@signet.example, operator.`,
  },
  'signet admin remove': {
    example: `$ npx signet admin remove second@signet.example
Removed second@signet.example.`,
  },
  'signet keys list': {
    example: 'npx signet keys list --json',
    text: 'With `--json` it prints what `GET /api/keys` answers. [Tokens](tokens.md) says what the states mean.',
  },
  'signet keys rotate': {
    example: 'npx signet keys rotate',
    text: `The same as \`POST /api/keys/rotate\`, for when that cannot be reached. It needs the master key. A service that runs reads the
keys each minute and signs with the old one until then; those tokens are valid like any other.`,
  },
  'signet audit verify': {
    example: `$ npx signet audit verify
The audit log is whole: 128 entries.
Its head is 128:0f1f9c1c5bd6a9b8c4f9ad8b5b2a3a3f1b0d1bd5c0a7a1d1f2b94c7a2e6d8c11`,
    text: `Note the head somewhere else, and give it as \`--head\` the next time: [the audit log](audit.md#what-the-chain-proves) says why. It
needs the master key, and reads a few hundred entries at a time. With \`--json\` it prints \`entries\`, \`removed\` (for their age)
and \`head\`.`,
  },
};

export function commandLinePage(): string {
  const sections = commandsOf(createProgram(depsOfProcess())).map(([path, command]) =>
    section(path, command, notesOf(path)),
  );
  return page(
    'Command line',
    'src/cli/*program.ts and scripts/cli-page.ts',
    `In the project's folder a command is \`npx signet …\`; from anywhere it is \`node /path/to/signet/bin/signet.mjs …\`. Each of them
explains itself with \`--help\`.

All commands read the same [configuration](configuration.md) as the service: give them the same environment, or the working
folder with the same \`.env\` file and the same \`data\`. Run them as the same user, too. They work on the database itself,
so they need no password, and whoever may write the database may do all of this. All but \`serve\` and
\`copy\` can run while the service does.

## Exit codes

${table(['Code', 'Meaning'], Object.entries(exitCodes))}

## JSON

Every command but \`serve\` takes \`--json\`: it prints one JSON document on standard output then, and nothing else. Where it fails, that is
\`{"error": …, "error_description": …}\`, and the exit code is the same as without. \`error\` is one of these:

${table(
  ['Code', 'When'],
  Object.entries(failureCodes).map(([code, when]) => [`\`${code}\``, when]),
)}

${sections.join('\n\n')}`,
  );
}

/** The commands that do something, by what is typed for them. */
export function commandsOf(command: Command, above = ''): [string, Command][] {
  const path = `${above} ${command.name()}`.trim();
  if (command.commands.length === 0) return [[path, command]];
  return command.commands.flatMap((sub) => commandsOf(sub, path));
}

function notesOf(path: string): Notes {
  const found = notes[path];
  if (found === undefined) throw new Error(`${path} has no notes and no example.`);
  return found;
}

function section(path: string, command: Command, { example, text }: Notes): string {
  const rows = [
    ...command.registeredArguments.map((argument) => [`\`<${argument.name()}>\``, argument.description]),
    ...command.options.map(({ flags, description }) => [`\`${flags}\``, description]),
  ];
  return [
    `## ${path}`,
    command.description(),
    ...(rows.length > 0 ? [table(['Argument or option', 'Meaning'], rows)] : []),
    ...(text === undefined ? [] : [text]),
    `\`\`\`text\n${example}\n\`\`\``,
  ].join('\n\n');
}

import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { EMAIL_PATTERN, ROLES, type Role } from '../admin/administrator.ts';
import type { CommandDeps } from './command.ts';
import type { PasswordSource } from './password.ts';
import { json, report } from './report.ts';

const loadAdmin = () => import('./admin.ts');

/** `signet admin …` */
export function addAdminCommands(admin: Command, deps: CommandDeps): void {
  withPassword(admin.command('add'))
    .description('Make a further administrator. Asks for the password where no option says otherwise.')
    .addOption(new Option('--role <role>', 'what they may do').choices(ROLES).default('owner'))
    .option('--organization <id>', 'the one organization that they see and change; without it, everything')
    .action(async (email: string, options: PasswordOptions & { role: Role; organization?: string }) => {
      const { addAdmin } = await loadAdmin();
      const { role, organization: organizationId = null } = options;
      const adding = addAdmin(deps, { email, source: sourceOf(options), role, organizationId });
      return report(deps, options, adding);
    });
  withPassword(admin.command('password'))
    .description('Change the password of an administrator; the old one ends at once.')
    .action((email: string, options: PasswordOptions) =>
      report(
        deps,
        options,
        loadAdmin().then(({ changeAdminPassword }) =>
          changeAdminPassword(deps, { email, source: sourceOf(options) }),
        ),
      ),
    );
  admin
    .command('role')
    .description('Give an administrator another role; the last owner keeps it.')
    .argument('<email>', 'the e-mail address', toEmail)
    .addArgument(new Argument('<role>', `one of ${ROLES.join(', ')}`).choices(ROLES))
    .addOption(json())
    .action(async (email: string, role: Role, options: { json?: true }) => {
      const { changeAdmin } = await loadAdmin();
      return report(deps, options, changeAdmin(deps, email, { role }));
    });
  admin
    .command('bind')
    .description('Bind an administrator to one organization; never the last owner.')
    .argument('<email>', 'the e-mail address', toEmail)
    .argument(
      '<organization>',
      'the identifier of the one organization that they see and change from then on',
    )
    .addOption(json())
    .action(async (email: string, organizationId: string, options: { json?: true }) => {
      const { changeAdmin } = await loadAdmin();
      return report(deps, options, changeAdmin(deps, email, { organizationId }));
    });
  admin
    .command('unbind')
    .description('Let an administrator see and change everything, as the role allows.')
    .argument('<email>', 'the e-mail address', toEmail)
    .addOption(json())
    .action(async (email: string, options: { json?: true }) => {
      const { changeAdmin } = await loadAdmin();
      return report(deps, options, changeAdmin(deps, email, { organizationId: null }));
    });
  admin
    .command('list')
    .description('List the administrators.')
    .addOption(json())
    .action((options: { json?: true }) =>
      report(
        deps,
        options,
        loadAdmin().then(({ listAdmins }) => listAdmins(deps)),
      ),
    );
  admin
    .command('remove')
    .description('Take the access of an administrator away at once; never of the last owner.')
    .argument('<email>', 'the e-mail address', toEmail)
    .addOption(json())
    .action((email: string, options: { json?: true }) =>
      report(
        deps,
        options,
        loadAdmin().then(({ removeAdmin }) => removeAdmin(deps, email)),
      ),
    );
}

interface PasswordOptions {
  passwordStdin?: true;
  generate?: true;
  json?: true;
}

function withPassword(command: Command): Command {
  return command
    .argument('<email>', 'the e-mail address', toEmail)
    .addOption(new Option('--password-stdin', 'read the password from standard input').conflicts('generate'))
    .option('--generate', 'make a password and print it, once')
    .addOption(json());
}

function sourceOf({ passwordStdin, generate }: PasswordOptions): PasswordSource {
  if (passwordStdin) return 'stdin';
  return generate ? 'generate' : 'ask';
}

function toEmail(text: string): string {
  if (EMAIL_PATTERN.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('It must be an e-mail address.');
}

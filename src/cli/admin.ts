import type { Administrator, Role } from '../admin/administrator.ts';
import { toAdministratorView } from '../admin/administrators.schema.ts';
import {
  type AdministratorChanges,
  addAdministrator,
  changeAdministrator,
  removeAdministrator,
} from '../admin/administrators.service.ts';
import { listAdministrators } from '../admin/administrators.store.ts';
import { withAudit } from './audited.ts';
import type { CommandDeps, Outcome } from './command.ts';
import { withDatabase } from './database.ts';
import { choosePassword, type PasswordSource } from './password.ts';
import { textTable } from './text-table.ts';

interface Request {
  email: string;
  source: PasswordSource;
}

interface NewAdmin extends Request {
  role: Role;
  /** The identifier of the one organization that they see and change; null for everything. */
  organizationId: string | null;
}

/** Makes a further administrator. */
export async function addAdmin(
  deps: CommandDeps,
  { email, source, role, organizationId }: NewAdmin,
): Promise<Outcome> {
  const config = deps.loadConfig();
  const { password, generated } = await choosePassword(deps, source);
  const administrator = await withAudit(config, deps.clock, ({ database, audit, by }) =>
    addAdministrator({ ...deps, database, audit }, { email, password, role, organizationId }, by),
  );
  return {
    text: `Added ${describe(administrator)}.\n${passwordLine(generated)}`,
    json: { administrator: toAdministratorView(administrator), ...passwordMember(generated) },
  };
}

/** Gives an administrator another password, which is the only one from the next request on. */
export async function changeAdminPassword(deps: CommandDeps, { email, source }: Request): Promise<Outcome> {
  const config = deps.loadConfig();
  const { password, generated } = await choosePassword(deps, source);
  await withAudit(config, deps.clock, ({ by, ...opened }) =>
    changeAdministrator(opened, { email }, { password }, by),
  );
  return {
    text: `Changed the password of ${email}.\n${passwordLine(generated)}`,
    json: { email, ...passwordMember(generated) },
  };
}

/** Gives an administrator another role or organization, from the next request on; the last owner stays one. */
export async function changeAdmin(
  { loadConfig, clock }: Pick<CommandDeps, 'loadConfig' | 'clock'>,
  email: string,
  changes: Pick<AdministratorChanges, 'role' | 'organizationId'>,
): Promise<Outcome> {
  const administrator = await withAudit(loadConfig(), clock, ({ by, ...opened }) =>
    changeAdministrator(opened, { email }, changes, by),
  );
  return {
    text: `Now ${describe(administrator)}.\n`,
    json: { administrator: toAdministratorView(administrator) },
  };
}

/** The administrators in the order in which they were made. */
export async function listAdmins({ loadConfig }: Pick<CommandDeps, 'loadConfig'>): Promise<Outcome> {
  const administrators = await withDatabase(loadConfig(), ({ reader }) => listAdministrators(reader));
  const views = administrators.map(toAdministratorView);
  return {
    text: textTable(
      ['EMAIL', 'ROLE', 'ORGANIZATION', 'CREATED', 'ID'],
      views.map((view) => [view.email, view.role, view.organization_id ?? '-', view.created_at, view.id]),
    ),
    json: { administrators: views },
  };
}

/** Takes an administrator's access away, from the next request on. */
export async function removeAdmin(
  { loadConfig, clock }: Pick<CommandDeps, 'loadConfig' | 'clock'>,
  email: string,
): Promise<Outcome> {
  const administrator = await withAudit(loadConfig(), clock, ({ by, ...opened }) =>
    removeAdministrator(opened, { email }, by),
  );
  return {
    text: `Removed ${administrator.email}.\n`,
    json: { administrator: toAdministratorView(administrator) },
  };
}

const describe = ({ email, role, organizationId }: Administrator): string =>
  `${email}, ${role}${organizationId === null ? '' : ` of ${organizationId}`}`;

const passwordLine = (generated: string | null): string =>
  generated === null ? '' : `\n  Password   ${generated}   (shown this once)\n`;

const passwordMember = (generated: string | null): object =>
  generated === null ? {} : { password: generated };

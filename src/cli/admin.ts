import type { Administrator } from '../admin/administrator.ts';
import { addAdministrator, changePassword, removeAdministrator } from '../admin/administrators.service.ts';
import { listAdministrators } from '../admin/administrators.store.ts';
import { toTimestamp } from '../clock.ts';
import { withAudit } from './audited.ts';
import type { CommandDeps, Outcome } from './command.ts';
import { withDatabase } from './database.ts';
import { choosePassword, type PasswordSource } from './password.ts';
import { textTable } from './text-table.ts';

interface Request {
  email: string;
  source: PasswordSource;
}

/** Makes a further administrator, who may do everything. */
export async function addAdmin(deps: CommandDeps, { email, source }: Request): Promise<Outcome> {
  const config = deps.loadConfig();
  const { password, generated } = await choosePassword(deps, source);
  const administrator = await withAudit(config, deps.clock, ({ database, audit, by }) =>
    addAdministrator({ ...deps, database, audit }, { email, password }, by),
  );
  return {
    text: `Added ${administrator.email}.\n${passwordLine(generated)}`,
    json: { administrator: toView(administrator), ...passwordMember(generated) },
  };
}

/** Gives an administrator another password, which is the only one from the next request on. */
export async function changeAdminPassword(deps: CommandDeps, { email, source }: Request): Promise<Outcome> {
  const config = deps.loadConfig();
  const { password, generated } = await choosePassword(deps, source);
  await withAudit(config, deps.clock, ({ by, ...opened }) => changePassword(opened, { email, password }, by));
  return {
    text: `Changed the password of ${email}.\n${passwordLine(generated)}`,
    json: { email, ...passwordMember(generated) },
  };
}

/** The administrators in the order in which they were made. */
export async function listAdmins({ loadConfig }: Pick<CommandDeps, 'loadConfig'>): Promise<Outcome> {
  const administrators = await withDatabase(loadConfig(), ({ reader }) => listAdministrators(reader));
  const views = administrators.map(toView);
  return {
    text: textTable(
      ['EMAIL', 'CREATED', 'ID'],
      views.map(({ id, email, created_at }) => [email, created_at, id]),
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
    removeAdministrator(opened, email, by),
  );
  return { text: `Removed ${administrator.email}.\n`, json: { administrator: toView(administrator) } };
}

const toView = ({ id, email, createdAt }: Administrator) => ({
  id,
  email,
  created_at: toTimestamp(createdAt),
});

const passwordLine = (generated: string | null): string =>
  generated === null ? '' : `\n  Password   ${generated}   (shown this once)\n`;

const passwordMember = (generated: string | null): object =>
  generated === null ? {} : { password: generated };

import type { Administrator } from '../admin/administrator.ts';
import { addAdministrator, changePassword, removeAdministrator } from '../admin/administrators.service.ts';
import { listAdministrators } from '../admin/administrators.store.ts';
import { toTimestamp } from '../clock.ts';
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
  const administrator = await withDatabase(config, (database) =>
    addAdministrator({ ...deps, database }, { email, password }),
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
  await withDatabase(config, (database) => changePassword({ database }, { email, password }));
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
  { loadConfig }: Pick<CommandDeps, 'loadConfig'>,
  email: string,
): Promise<Outcome> {
  const administrator = await withDatabase(loadConfig(), (database) =>
    removeAdministrator({ database }, email),
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

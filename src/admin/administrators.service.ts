import type { Actor } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { AuditAction, Change } from '../audit/entry.ts';
import { type Clock, toTimestamp } from '../clock.ts';
import { type Database, UniqueViolation } from '../db/database.ts';
import { conflict, invalidRequest, notFound } from '../errors.ts';
import type { Ids } from '../ids.ts';
import { type Administrator, LONGEST_PASSWORD, SHORTEST_PASSWORD } from './administrator.ts';
import {
  deleteAdministrator,
  findAdministrator,
  findFirstAdministrator,
  insertAdministrator,
  listAdministrators,
  updatePasswordHash,
} from './administrators.store.ts';
import { hashPassword } from './password.ts';

interface Deps {
  database: Database;
  clock: Clock;
  ids: Ids;
  audit: AuditLog;
}

interface Credentials {
  email: string;
  password: string;
}

export async function addAdministrator(
  deps: Deps,
  credentials: Credentials,
  by: Actor,
): Promise<Administrator> {
  const administrator = await newAdministrator(deps, credentials);
  await deps.database
    .audited(async (tx) => {
      await insertAdministrator(tx, administrator);
      await deps.audit.record(tx, by, addition(administrator));
    })
    .catch(refuseTaken(credentials.email));
  return administrator;
}

/** Makes the first administrator; where another instance has made one meanwhile, answers who that is. */
export async function addFirstAdministrator(
  deps: Deps,
  credentials: Credentials,
  by: Actor,
): Promise<{ email: string; isNew: boolean }> {
  const administrator = await newAdministrator(deps, credentials);
  return deps.database.audited(async (tx) => {
    const earlier = await findFirstAdministrator(tx);
    if (earlier !== null) return { email: earlier, isNew: false };
    await insertAdministrator(tx, administrator);
    await deps.audit.record(tx, by, addition(administrator));
    return { email: administrator.email, isNew: true };
  });
}

/** The old password is worth nothing from the next request on. */
export async function changePassword(
  { database, audit }: Pick<Deps, 'database' | 'audit'>,
  { email, password }: Credentials,
  by: Actor,
): Promise<void> {
  const passwordHash = await hashPassword(checked(password));
  await database.audited(async (tx) => {
    const administrator = await findAdministrator(tx, email);
    if (administrator === null) throw unknownAdministrator(email);
    await updatePasswordHash(tx, email, passwordHash);
    await audit.record(tx, by, told('administrator.password_changed', administrator));
  });
}

/** Never the last one: a service without administrators would make a new first one at its next start. */
export async function removeAdministrator(
  { database, audit }: Pick<Deps, 'database' | 'audit'>,
  email: string,
  by: Actor,
): Promise<Administrator> {
  return database.audited(async (tx) => {
    const administrator = await findAdministrator(tx, email);
    if (administrator === null) throw unknownAdministrator(email);
    const all = await listAdministrators(tx);
    if (all.length === 1)
      throw conflict(`${administrator.email} is the last administrator. Add another first.`);
    await deleteAdministrator(tx, administrator.id);
    await audit.record(tx, by, {
      ...told('administrator.removed', administrator),
      before: audited(administrator),
    });
    return administrator;
  });
}

const told = (action: AuditAction, { id, email }: Administrator): Change => ({
  action,
  target: { kind: 'administrator', id, name: email },
});

const addition = (administrator: Administrator): Change => ({
  ...told('administrator.added', administrator),
  after: audited(administrator),
});

const audited = ({ email, createdAt }: Administrator) => ({ email, created_at: toTimestamp(createdAt) });

async function newAdministrator(
  { ids, clock }: Deps,
  { email, password }: Credentials,
): Promise<Administrator> {
  return {
    id: ids.newId('admin'),
    email: email.toLowerCase(),
    passwordHash: await hashPassword(checked(password)),
    createdAt: clock.now(),
  };
}

function checked(password: string): string {
  if (password.length >= SHORTEST_PASSWORD && password.length <= LONGEST_PASSWORD) return password;
  throw invalidRequest(`A password has ${SHORTEST_PASSWORD} to ${LONGEST_PASSWORD} characters.`);
}

function refuseTaken(email: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof UniqueViolation) throw conflict(`There is an administrator ${email} already.`);
    throw error;
  };
}

const unknownAdministrator = (email: string) => notFound(`administrator as ${email}`);

import type { Actor } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Clock } from '../clock.ts';
import { type Database, type Queries, UniqueViolation } from '../db/database.ts';
import { conflict, invalidRequest, notFound } from '../errors.ts';
import type { Ids } from '../ids.ts';
import { findOrganization } from '../organizations/organizations.store.ts';
import {
  type Administrator,
  type AdministratorRef,
  isOwnerOfAll,
  LONGEST_PASSWORD,
  type Role,
  SHORTEST_PASSWORD,
} from './administrator.ts';
import { administratorAddition, administratorChanges, administratorRemoval } from './administrators.audit.ts';
import {
  countOtherOwners,
  deleteAdministrator,
  findAdministrator,
  findFirstAdministrator,
  insertAdministrator,
  updateAdministrator,
} from './administrators.store.ts';
import { apiKeyRemoval } from './api-keys.audit.ts';
import { deleteApiKeysOf } from './api-keys.store.ts';
import { type HashPassword, hashPassword } from './password.ts';

export interface AdministratorsDeps {
  database: Database;
  clock: Clock;
  ids: Ids;
  audit: AuditLog;
  hash?: HashPassword | undefined;
}

export interface NewAdministrator {
  email: string;
  password: string;
  role: Role;
  organizationId: string | null;
}

/** What is absent stays as it is; null for the organization unbinds. */
export interface AdministratorChanges {
  email?: string;
  role?: Role;
  organizationId?: string | null;
  password?: string;
  /** Ends every API key of the administrator. */
  revokeKeys?: boolean;
}

export async function addAdministrator(
  deps: AdministratorsDeps,
  input: NewAdministrator,
  by: Actor,
): Promise<Administrator> {
  const administrator = await toAdministrator(deps, input);
  await deps.database
    .audited(async (tx) => {
      await requireOrganization(tx, administrator.organizationId);
      await requireOwner(tx, administrator, 'The first administrator is an owner, of everything.');
      await insertAdministrator(tx, administrator);
      await deps.audit.record(tx, by, administratorAddition(administrator));
    })
    .catch(refuseTaken(administrator.email));
  return administrator;
}

/** Makes the first administrator; where another instance has made one meanwhile, answers who that is. */
export async function addFirstAdministrator(
  deps: AdministratorsDeps,
  credentials: Pick<NewAdministrator, 'email' | 'password'>,
  by: Actor,
): Promise<{ email: string; isNew: boolean }> {
  const administrator = await toAdministrator(deps, { ...credentials, role: 'owner', organizationId: null });
  return deps.database.audited(async (tx) => {
    const earlier = await findFirstAdministrator(tx);
    if (earlier !== null) return { email: earlier, isNew: false };
    await insertAdministrator(tx, administrator);
    await deps.audit.record(tx, by, administratorAddition(administrator));
    return { email: administrator.email, isNew: true };
  });
}

/** Holds from the next request on: an old password, a role and an organization that were taken are worth nothing then. */
export async function changeAdministrator(
  { database, audit }: Pick<AdministratorsDeps, 'database' | 'audit'>,
  ref: AdministratorRef,
  changes: AdministratorChanges,
  by: Actor,
): Promise<Administrator> {
  const passwordHash = changes.password === undefined ? null : await hashPassword(checked(changes.password));
  return database
    .audited(async (tx) => {
      const before = await requireAdministrator(tx, ref);
      const after = applyChanges(before, changes, passwordHash);
      if (after.organizationId !== before.organizationId) await requireOrganization(tx, after.organizationId);
      await requireOwner(tx, after, `${before.email} is the last owner. Make another one first.`);
      await updateAdministrator(tx, after);
      const ended = changes.revokeKeys === true ? await deleteApiKeysOf(tx, after.id) : [];
      const endings = ended.map((key) => apiKeyRemoval(key, after));
      await audit.record(tx, by, ...administratorChanges(before, after), ...endings);
      return after;
    })
    .catch(refuseTaken(changes.email ?? ''));
}

/** Never the last owner: nobody could make another one. The API keys end, too. */
export async function removeAdministrator(
  { database, audit }: Pick<AdministratorsDeps, 'database' | 'audit'>,
  ref: AdministratorRef,
  by: Actor,
): Promise<Administrator> {
  return database.audited(async (tx) => {
    const administrator = await requireAdministrator(tx, ref);
    const gone = { ...administrator, role: 'viewer' as const };
    await requireOwner(tx, gone, `${administrator.email} is the last owner. Make another one first.`);
    await deleteAdministrator(tx, administrator.id);
    await audit.record(tx, by, administratorRemoval(administrator));
    return administrator;
  });
}

export async function requireAdministrator(db: Queries, ref: AdministratorRef): Promise<Administrator> {
  const administrator = await findAdministrator(db, ref);
  if (administrator === null)
    throw notFound('email' in ref ? `administrator as ${ref.email}` : 'administrator');
  return administrator;
}

/**
 * Somebody may do everything, everywhere, once this administrator is as given. Two transactions at once that each leave
 * the other's owner cannot both commit: both have read what the other changes.
 */
async function requireOwner(tx: Queries, administrator: Administrator, otherwise: string): Promise<void> {
  if (isOwnerOfAll(administrator) || (await countOtherOwners(tx, administrator.id)) > 0) return;
  throw conflict(otherwise);
}

async function requireOrganization(tx: Queries, id: string | null): Promise<void> {
  if (id === null || (await findOrganization(tx, id)) !== null) return;
  throw invalidRequest('organization_id: there is no such organization.');
}

function applyChanges(
  before: Administrator,
  changes: AdministratorChanges,
  passwordHash: string | null,
): Administrator {
  return {
    ...before,
    email: changes.email?.toLowerCase() ?? before.email,
    role: changes.role ?? before.role,
    organizationId: changes.organizationId === undefined ? before.organizationId : changes.organizationId,
    passwordHash: passwordHash ?? before.passwordHash,
  };
}

async function toAdministrator(
  { ids, clock, hash = hashPassword }: AdministratorsDeps,
  { email, password, role, organizationId }: NewAdministrator,
): Promise<Administrator> {
  return {
    id: ids.newId('admin'),
    email: email.toLowerCase(),
    passwordHash: await hash(checked(password)),
    role,
    organizationId,
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

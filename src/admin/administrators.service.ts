import type { Clock } from '../clock.ts';
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
}

interface Credentials {
  email: string;
  password: string;
}

export async function addAdministrator(deps: Deps, credentials: Credentials): Promise<Administrator> {
  const administrator = await newAdministrator(deps, credentials);
  await deps.database
    .transaction((tx) => insertAdministrator(tx, administrator))
    .catch(refuseTaken(credentials.email));
  return administrator;
}

/** Makes the first administrator; where another instance has made one meanwhile, answers who that is. */
export async function addFirstAdministrator(
  deps: Deps,
  credentials: Credentials,
): Promise<{ email: string; isNew: boolean }> {
  const administrator = await newAdministrator(deps, credentials);
  return deps.database.transaction(async (tx) => {
    const earlier = await findFirstAdministrator(tx);
    if (earlier !== null) return { email: earlier, isNew: false };
    await insertAdministrator(tx, administrator);
    return { email: administrator.email, isNew: true };
  });
}

/** The old password is worth nothing from the next request on. */
export async function changePassword(
  { database }: Pick<Deps, 'database'>,
  { email, password }: Credentials,
): Promise<void> {
  const passwordHash = await hashPassword(checked(password));
  const isKnown = await database.transaction((tx) => updatePasswordHash(tx, email, passwordHash));
  if (!isKnown) throw unknownAdministrator(email);
}

/** Never the last one: a service without administrators would make a new first one at its next start. */
export async function removeAdministrator(
  { database }: Pick<Deps, 'database'>,
  email: string,
): Promise<Administrator> {
  return database.transaction(async (tx) => {
    const administrator = await findAdministrator(tx, email);
    if (administrator === null) throw unknownAdministrator(email);
    const all = await listAdministrators(tx);
    if (all.length === 1)
      throw conflict(`${administrator.email} is the last administrator. Add another first.`);
    await deleteAdministrator(tx, administrator.id);
    return administrator;
  });
}

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

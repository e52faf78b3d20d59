import { conflict, insufficientRole, notFound } from '../errors.ts';
import { type ApiKeySecret, digestSecret } from '../ids.ts';
import { isAtLeast, type Role } from './administrator.ts';
import { type AdministratorsDeps, requireAdministrator } from './administrators.service.ts';
import { type ApiKey, shownPrefix } from './api-key.ts';
import { deleteApiKey, insertApiKey, listApiKeys } from './api-keys.store.ts';

export interface NewApiKey {
  administratorId: string;
  name: string;
  role: Role | null;
  expiresInSeconds: number | null;
}

const MOST_KEYS = 100;

/** The secret is in the answer, and nowhere after. */
export async function addApiKey(
  { database, clock, ids }: AdministratorsDeps,
  input: NewApiKey,
): Promise<{ key: ApiKey; secret: ApiKeySecret }> {
  const secret = ids.newApiKeySecret();
  const createdAt = clock.now();
  const key: ApiKey = {
    id: ids.newId('key'),
    administratorId: input.administratorId,
    name: input.name,
    prefix: shownPrefix(secret),
    role: input.role,
    expiresAt: input.expiresInSeconds === null ? null : createdAt + input.expiresInSeconds * 1000,
    lastUsedAt: null,
    createdAt,
  };
  await database.transaction(async (tx) => {
    const { role } = await requireAdministrator(tx, { id: key.administratorId });
    if (key.role !== null && !isAtLeast(role, key.role))
      throw insufficientRole(`role: a key has no more than your own role, which is ${role}.`);
    const keys = await listApiKeys(tx, key.administratorId, { limit: MOST_KEYS, cursor: null });
    if (keys.length >= MOST_KEYS)
      throw conflict(`An administrator has ${MOST_KEYS} API keys at most. Remove one that is not used.`);
    await insertApiKey(tx, key, digestSecret(secret));
  });
  return { key, secret };
}

/** Worthless from the next request on. */
export async function removeApiKey(
  { database }: Pick<AdministratorsDeps, 'database'>,
  ref: { administratorId: string; id: string },
): Promise<ApiKey> {
  return database.transaction(async (tx) => {
    const key = await deleteApiKey(tx, ref);
    if (key === null) throw notFound('API key');
    return key;
  });
}

import type { Actor } from '../audit/actor.ts';
import { conflict, insufficientRole, notFound } from '../errors.ts';
import { type ApiKeySecret, digestSecret } from '../ids.ts';
import { isAtLeast, type Role } from './administrator.ts';
import { type AdministratorsDeps, requireAdministrator } from './administrators.service.ts';
import { type ApiKey, shownPrefix } from './api-key.ts';
import { apiKeyAddition, apiKeyRemoval } from './api-keys.audit.ts';
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
  { database, clock, ids, audit }: AdministratorsDeps,
  input: NewApiKey,
  by: Actor,
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
  await database.audited(async (tx) => {
    const owner = await requireAdministrator(tx, { id: key.administratorId });
    if (key.role !== null && !isAtLeast(owner.role, key.role))
      throw insufficientRole(`role: a key has no more than your own role, which is ${owner.role}.`);
    const keys = await listApiKeys(tx, key.administratorId, { limit: MOST_KEYS, cursor: null });
    if (keys.length >= MOST_KEYS)
      throw conflict(`An administrator has ${MOST_KEYS} API keys at most. Remove one that is not used.`);
    await insertApiKey(tx, key, digestSecret(secret));
    await audit.record(tx, by, apiKeyAddition(key, owner));
  });
  return { key, secret };
}

/** Worthless from the next request on. */
export async function removeApiKey(
  { database, audit }: Pick<AdministratorsDeps, 'database' | 'audit'>,
  ref: { administratorId: string; id: string },
  by: Actor,
): Promise<ApiKey> {
  return database.audited(async (tx) => {
    const key = await deleteApiKey(tx, ref);
    if (key === null) throw notFound('API key');
    const owner = await requireAdministrator(tx, { id: ref.administratorId });
    await audit.record(tx, by, apiKeyRemoval(key, owner));
    return key;
  });
}

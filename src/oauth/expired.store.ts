import type { Queries } from '../db/database.ts';

/** Each deletes at most `limit` rows and answers how many went, so that no request waits long behind one. */

export async function deleteExpiredRefreshTokens(
  tx: Queries,
  before: number,
  limit: number,
): Promise<number> {
  const expired = tx.selectFrom('refresh_tokens').select('id').where('expires_at', '<=', before).limit(limit);
  return affected(await tx.deleteFrom('refresh_tokens').where('id', 'in', expired).executeTakeFirst());
}

export async function deleteExpiredRevocations(tx: Queries, before: number, limit: number): Promise<number> {
  const expired = tx.selectFrom('revoked_tokens').select('id').where('expires_at', '<=', before).limit(limit);
  return affected(await tx.deleteFrom('revoked_tokens').where('id', 'in', expired).executeTakeFirst());
}

export async function hasExpiredRevocation(db: Queries, before: number): Promise<boolean> {
  const expired = db.selectFrom('revoked_tokens').select('id').where('expires_at', '<=', before).limit(1);
  return (await expired.executeTakeFirst()) !== undefined;
}

/** Their refresh tokens work no more without them, and go when they expire. */
export async function deleteEndedSecrets(tx: Queries, before: number, limit: number): Promise<number> {
  const ended = tx.selectFrom('client_secrets').select('id').where('expires_at', '<=', before).limit(limit);
  return affected(await tx.deleteFrom('client_secrets').where('id', 'in', ended).executeTakeFirst());
}

const affected = (result: { numDeletedRows: bigint }): number => Number(result.numDeletedRows);

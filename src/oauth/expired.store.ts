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

/** Refresh tokens that ended with their secret. */
export async function deleteOrphanedRefreshTokens(
  tx: Queries,
  before: number,
  limit: number,
): Promise<number> {
  const orphaned = tx
    .selectFrom('client_secrets')
    .innerJoin('refresh_tokens', 'refresh_tokens.client_secret_id', 'client_secrets.id')
    .select('refresh_tokens.id')
    .where('client_secrets.expires_at', '<=', before)
    .limit(limit);
  return affected(await tx.deleteFrom('refresh_tokens').where('id', 'in', orphaned).executeTakeFirst());
}

/** Ended secrets that no refresh token refers to any more. */
export async function deleteEndedSecrets(tx: Queries, before: number, limit: number): Promise<number> {
  const ended = tx
    .selectFrom('client_secrets')
    .select('client_secrets.id')
    .where('expires_at', '<=', before)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('refresh_tokens')
            .select('refresh_tokens.id')
            .whereRef('refresh_tokens.client_secret_id', '=', 'client_secrets.id'),
        ),
      ),
    )
    .limit(limit);
  return affected(await tx.deleteFrom('client_secrets').where('id', 'in', ended).executeTakeFirst());
}

const affected = (result: { numDeletedRows: bigint }): number => Number(result.numDeletedRows);

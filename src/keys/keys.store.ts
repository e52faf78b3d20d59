import type { Selectable } from 'kysely';
import type { Queries, Tables } from '../db/database.ts';
import type { PublicJwk, SigningKey } from './signing-key.ts';

export async function listKeys(db: Queries): Promise<SigningKey[]> {
  // The first two are made at the same time: without the second order each database would have one of its own.
  const rows = await db
    .selectFrom('signing_keys')
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('kid')
    .execute();
  return rows.map(toSigningKey);
}

export async function insertKey(tx: Queries, key: SigningKey): Promise<void> {
  await tx
    .insertInto('signing_keys')
    .values({
      kid: key.kid,
      status: key.status,
      public_jwk: JSON.stringify(key.publicJwk),
      private_key: key.sealedPrivateKey,
      created_at: key.createdAt,
      activated_at: key.activatedAt,
      retired_at: key.retiredAt,
      remove_at: key.removeAt,
    })
    .execute();
}

export async function retireActiveKey(
  tx: Queries,
  times: { retiredAt: number; removeAt: number },
): Promise<void> {
  await tx
    .updateTable('signing_keys')
    .set({ status: 'retiring', retired_at: times.retiredAt, remove_at: times.removeAt })
    .where('status', '=', 'active')
    .execute();
}

export async function activateNextKey(tx: Queries, activatedAt: number): Promise<void> {
  await tx
    .updateTable('signing_keys')
    .set({ status: 'active', activated_at: activatedAt })
    .where('status', '=', 'next')
    .execute();
}

export async function removeRetiredKeys(tx: Queries, now: number): Promise<void> {
  await tx
    .deleteFrom('signing_keys')
    .where('status', '=', 'retiring')
    .where('remove_at', '<=', now)
    .execute();
}

function toSigningKey(row: Selectable<Tables['signing_keys']>): SigningKey {
  return {
    kid: row.kid,
    status: row.status,
    publicJwk: JSON.parse(row.public_jwk) as PublicJwk,
    sealedPrivateKey: row.private_key,
    createdAt: row.created_at,
    activatedAt: row.activated_at,
    retiredAt: row.retired_at,
    removeAt: row.remove_at,
  };
}

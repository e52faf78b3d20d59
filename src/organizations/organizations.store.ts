import type { Selectable } from 'kysely';
import type { Queries, Tables } from '../db/database.ts';
import type { Page } from '../schema.ts';
import type { Organization } from './organization.ts';

/** Rejects with `UniqueViolation` where the slug is taken. */
export async function insertOrganization(tx: Queries, organization: Organization): Promise<void> {
  await tx.insertInto('organizations').values(toRow(organization)).execute();
}

export async function findOrganization(db: Queries, id: string): Promise<Organization | null> {
  const row = await db.selectFrom('organizations').selectAll().where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toOrganization(row);
}

/** At most `page.limit + 1` organizations, newest first; the one alone where there is no other for whoever asks. */
export async function listOrganizations(
  db: Queries,
  page: Page,
  within: string | null = null,
): Promise<Organization[]> {
  let query = db
    .selectFrom('organizations')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (within !== null) query = query.where('id', '=', within);
  if (page.cursor !== null) query = query.where('id', '<', page.cursor);
  return (await query.execute()).map(toOrganization);
}

export async function updateOrganization(tx: Queries, organization: Organization): Promise<void> {
  const { name, jwt_expiry_secs } = toRow(organization);
  await tx
    .updateTable('organizations')
    .set({ name, jwt_expiry_secs })
    .where('id', '=', organization.id)
    .execute();
}

export async function deleteOrganization(tx: Queries, id: string): Promise<void> {
  await tx.deleteFrom('organizations').where('id', '=', id).execute();
}

function toOrganization(row: Selectable<Tables['organizations']>): Organization {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    ownerEmail: row.owner_email,
    plan: row.plan,
    jwtExpirySeconds: row.jwt_expiry_secs,
    createdAt: row.created_at,
  };
}

function toRow(organization: Organization): Selectable<Tables['organizations']> {
  return {
    id: organization.id,
    name: organization.name,
    slug: organization.slug,
    owner_email: organization.ownerEmail,
    plan: organization.plan,
    jwt_expiry_secs: organization.jwtExpirySeconds,
    created_at: organization.createdAt,
  };
}

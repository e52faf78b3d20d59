import type { Queries } from '../db/database.ts';
import type { SecretDigest } from '../ids.ts';
import type { LivingSecret } from './agent.ts';

export async function insertSecret(
  tx: Queries,
  secret: { agentId: string; digest: SecretDigest; createdAt: number },
): Promise<void> {
  await tx
    .insertInto('client_secrets')
    .values({
      agent_id: secret.agentId,
      digest: secret.digest,
      created_at: secret.createdAt,
      expires_at: null,
      last_used_at: null,
    })
    .execute();
}

/** Ends the agent's secrets at `endsAt`; one that ends sooner keeps its earlier end. */
export async function endSecrets(tx: Queries, agentId: string, endsAt: number): Promise<void> {
  await tx
    .updateTable('client_secrets')
    .set({ expires_at: endsAt })
    .where('agent_id', '=', agentId)
    .where((or) => or.or([or('expires_at', 'is', null), or('expires_at', '>', endsAt)]))
    .execute();
}

/** Newest first. */
export async function listLivingSecrets(db: Queries, agentId: string, now: number): Promise<LivingSecret[]> {
  const rows = await db
    .selectFrom('client_secrets')
    .select(['created_at', 'expires_at', 'last_used_at'])
    .where('agent_id', '=', agentId)
    .where((or) => or.or([or('expires_at', 'is', null), or('expires_at', '>', now)]))
    .orderBy('id', 'desc')
    .execute();
  return rows.map((row) => ({
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
  }));
}

export async function insertRotation(tx: Queries, agentId: string, rotatedAt: number): Promise<void> {
  await tx.insertInto('secret_rotations').values({ agent_id: agentId, rotated_at: rotatedAt }).execute();
}

const LONGEST_HISTORY = 100;

/** When the agent's secret was rotated, newest first, the latest hundred. */
export async function listRotations(db: Queries, agentId: string): Promise<number[]> {
  const rows = await db
    .selectFrom('secret_rotations')
    .select('rotated_at')
    .where('agent_id', '=', agentId)
    .orderBy('id', 'desc')
    .limit(LONGEST_HISTORY)
    .execute();
  return rows.map((row) => row.rotated_at);
}

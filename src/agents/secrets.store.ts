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
  await takeUseFromAgent(tx, agentId);
  await tx
    .updateTable('client_secrets')
    .set({ expires_at: endsAt })
    .where('agent_id', '=', agentId)
    .where((or) => or.or([or('expires_at', 'is', null), or('expires_at', '>', endsAt)]))
    .execute();
}

/** What the agent's row knows of its newest secret goes with that secret. */
async function takeUseFromAgent(tx: Queries, agentId: string): Promise<void> {
  const known = await tx
    .selectFrom('agents')
    .select('secret_used_at')
    .where('id', '=', agentId)
    .where('secret_used_at', 'is not', null)
    .executeTakeFirst();
  if (known === undefined) return;
  await tx
    .updateTable('client_secrets')
    .set({ last_used_at: known.secret_used_at })
    .where('agent_id', '=', agentId)
    .where('expires_at', 'is', null)
    .execute();
  await tx.updateTable('agents').set({ secret_used_at: null }).where('id', '=', agentId).execute();
}

/** Newest first. */
export async function listLivingSecrets(db: Queries, agentId: string, now: number): Promise<LivingSecret[]> {
  const rows = await db
    .selectFrom('client_secrets')
    .innerJoin('agents', 'agents.id', 'client_secrets.agent_id')
    .select(['client_secrets.created_at', 'client_secrets.expires_at', 'last_used_at', 'secret_used_at'])
    .where('agent_id', '=', agentId)
    .where((or) =>
      or.or([or('client_secrets.expires_at', 'is', null), or('client_secrets.expires_at', '>', now)]),
    )
    .orderBy('client_secrets.id', 'desc')
    .execute();
  return rows.map((row) => ({
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.expires_at === null ? (row.secret_used_at ?? row.last_used_at) : row.last_used_at,
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

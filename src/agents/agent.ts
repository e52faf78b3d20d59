/** A machine identity. Times are milliseconds since the Unix epoch. */
export interface Agent {
  id: string;
  clientId: string;
  name: string;
  scopes: readonly string[];
  isActive: boolean;
  organizationId: string | null;
  teamId: string | null;
  /** When the agent itself ends; null for never. */
  expiresAt: number | null;
  /** Tokens of an earlier epoch are revoked: the way to end all of an agent's tokens at once. */
  tokenEpoch: number;
  tokenCount: number;
  refreshCount: number;
  lastActivityAt: number | null;
  createdAt: number;
}

/** One of an agent's secrets that still works; there are several while a rotation's grace period runs. */
export interface LivingSecret {
  createdAt: number;
  /** The end of its grace period; null for the newest. */
  expiresAt: number | null;
  lastUsedAt: number | null;
}

/** Deactivated and expired agents get no tokens, and those they have are inactive. */
export const isUsable = (agent: { isActive: boolean; expiresAt: number | null }, now: number): boolean =>
  agent.isActive && (agent.expiresAt === null || agent.expiresAt > now);

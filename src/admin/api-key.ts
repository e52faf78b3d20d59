import type { Role } from './administrator.ts';

/** What a script of an administrator sends in the place of the password. */
export interface ApiKey {
  id: string;
  administratorId: string;
  name: string;
  /** How the secret begins, so that a key that was found somewhere can be told from the others. */
  prefix: string;
  /** Narrows what the key may do; null for all that its administrator may. */
  role: Role | null;
  expiresAt: number | null;
  lastUsedAt: number | null;
  createdAt: number;
}

export const API_KEY_PREFIX = 'sk_';
const SHOWN_CHARACTERS = API_KEY_PREFIX.length + 6;

/** 30 of the 256 random bits. */
export const shownPrefix = (secret: string): string => secret.slice(0, SHOWN_CHARACTERS);

export const isLiving = ({ expiresAt }: Pick<ApiKey, 'expiresAt'>, now: number): boolean =>
  expiresAt === null || expiresAt > now;

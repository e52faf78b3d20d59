/** From the least to the most that one may do; docs/administrators.md says what each is for. */
export const ROLES = ['viewer', 'operator', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** A person who manages the service, or a part of it. The e-mail address is kept in lower case. */
export interface Administrator {
  id: string;
  email: string;
  passwordHash: string;
  role: Role;
  /** The one organization that they see and change; null for everything. */
  organizationId: string | null;
  createdAt: number;
}

/** Which administrator a change is about. */
export type AdministratorRef = { id: string } | { email: string };

/** No colon: HTTP Basic ends the user name at the first one. */
export const EMAIL_PATTERN = /^[^\s@:]+@[^\s@:]+$/;
export const LONGEST_EMAIL = 254;
export const SHORTEST_PASSWORD = 8;
export const LONGEST_PASSWORD = 1024;

export const isAtLeast = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed);

export const lowerRole = (a: Role, b: Role): Role => (isAtLeast(a, b) ? b : a);

/** There is always one of these: who may do everything, everywhere. */
export const isOwnerOfAll = ({ role, organizationId }: Pick<Administrator, 'role' | 'organizationId'>) =>
  role === 'owner' && organizationId === null;

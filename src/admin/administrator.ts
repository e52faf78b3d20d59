/** A person who manages the service. The e-mail address is kept in lower case. */
export interface Administrator {
  id: string;
  email: string;
  passwordHash: string;
  createdAt: number;
}

/** No colon: HTTP Basic ends the user name at the first one. */
export const EMAIL_PATTERN = /^[^\s@:]+@[^\s@:]+$/;
export const SHORTEST_PASSWORD = 8;
export const LONGEST_PASSWORD = 1024;

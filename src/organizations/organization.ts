/** Who owns agents and teams. Times are milliseconds since the Unix epoch. */
export interface Organization {
  id: string;
  name: string;
  slug: string;
  ownerEmail: string;
  plan: string;
  /** How long its agents' access tokens live, in seconds; null for the service's default. */
  jwtExpirySeconds: number | null;
  createdAt: number;
}

export interface Team {
  id: string;
  organizationId: string;
  name: string;
  description: string;
  createdAt: number;
}

/** No organization can make its access tokens live longer, so no signing key must be published for longer. */
export const LONGEST_TOKEN_SECONDS = 2_592_000;

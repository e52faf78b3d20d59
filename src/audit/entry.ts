import type { Actor } from './actor.ts';

/** What is recorded, and what it means. The past tense, as the types of events. */
export const auditActions = {
  'agent.created': 'An agent was created.',
  'agent.updated': 'An agent was changed, deactivated or reactivated.',
  'agent.deleted': 'An agent was deleted, by itself or with its organization.',
  'agent.credentials_rotated': 'An agent got a new client secret.',
  'agent.tokens_revoked': 'All tokens of an agent were revoked.',
  'organization.created': 'An organization was created.',
  'organization.updated': 'An organization was changed.',
  'organization.deleted': 'An organization was deleted.',
  'team.created': 'A team was created.',
  'team.updated': 'A team was changed.',
  'team.deleted': 'A team was deleted, by itself or with its organization.',
  'webhook.created': 'A webhook was created.',
  'webhook.updated': 'A webhook was changed, or deactivated by the service because of its receiver.',
  'webhook.deleted': 'A webhook was deleted.',
  'webhook.secret_rotated': 'A webhook got a new signing secret.',
  'webhook.tested': 'A test request was sent to a webhook.',
  'webhook.redelivered': 'A delivery was sent again.',
  'signing_key.rotated': 'The next signing key took over, by request or because it was time.',
  'administrator.added': 'An administrator was added; the first one by the service.',
  'administrator.changed': 'An administrator got another role, organization or e-mail address.',
  'administrator.password_changed': 'An administrator got another password.',
  'administrator.removed':
    'An administrator was removed with their API keys, alone or with the organization they were bound to.',
  'api_key.added': 'An administrator got an API key.',
  'api_key.removed': 'An API key was ended.',
} as const;

export type AuditAction = keyof typeof auditActions;

export const targetKinds = [
  'agent',
  'organization',
  'team',
  'webhook',
  'signing_key',
  'administrator',
  'api_key',
] as const;

export interface Target {
  kind: (typeof targetKinds)[number];
  id: string;
  name: string;
}

/** Public members of a resource, as they are on the wire. Never a secret or a digest of one. */
export type Fields = Readonly<Record<string, unknown>>;

/** What a service says of a change that it makes. */
export interface Change {
  action: AuditAction;
  target: Target;
  organizationId?: string | null;
  before?: Fields | null;
  after?: Fields | null;
}

/** What is told of a change, in the form in which it is stored: fields are JSON. */
export interface Account {
  position: number;
  createdAt: number;
  actor: Actor;
  action: AuditAction;
  target: Target;
  organizationId: string | null;
  before: string | null;
  after: string | null;
}

/** An account, bound to the one before it. */
export interface AuditEntry extends Account {
  previousHash: string;
  hash: string;
}

/** Of two states only what differs between them; null where nothing does. */
export function differences(change: Change): { before: Fields | null; after: Fields | null } | null {
  const { before = null, after = null } = change;
  if (before === null || after === null) return { before, after };
  const names = Object.keys(after).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  if (names.length === 0) return null;
  const only = (fields: Fields) => Object.fromEntries(names.map((name) => [name, fields[name] ?? null]));
  return { before: only(before), after: only(after) };
}

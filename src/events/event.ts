import type { ActorKind } from '../audit/actor.ts';

/** What each type of event says of what it concerns. Never a secret, never a whole token. */
export interface EventData {
  'agent.created': AgentSubject;
  'agent.updated': AgentSubject & { changes: readonly string[]; updated_by: ActorKind };
  'agent.deleted': AgentSubject & { deleted_by: ActorKind };
  'agent.credentials_rotated': AgentSubject & {
    rotated_by: ActorKind;
    previous_secrets_expire_at: string;
  };
  'token.issued': AgentSubject & {
    grant_type: 'client_credentials' | 'refresh_token';
    token_id: string;
    scope: string;
    expires_at: string;
  };
  'token.validation_success': AgentSubject & {
    token_type: 'access_token' | 'refresh_token';
    token_id: string | null;
    scope: string;
  };
  'token.validation_failed': Partial<AgentSubject> & { reason: string; token_id: string | null };
  'webhook.created': WebhookSubject;
  'webhook.updated': WebhookSubject & { changes: readonly string[]; reason?: 'gone' | 'failing' };
  'webhook.deleted': WebhookSubject;
  'webhook.test': WebhookSubject;
}

export interface AgentSubject {
  agent_id: string;
  agent_name: string;
  client_id: string;
  organization_id: string | null;
}

interface WebhookSubject {
  webhook_id: string;
  webhook_name: string;
}

export type EventType = keyof EventData;

const meanings: Record<EventType, string> = {
  'agent.created': 'An agent was created.',
  'agent.updated': 'An agent was changed, deactivated or reactivated.',
  'agent.deleted': 'An agent was deleted.',
  'agent.credentials_rotated': 'An agent got a new client secret.',
  'token.issued': 'An access token was issued, by either grant.',
  'token.validation_success': 'Introspection found a token active.',
  'token.validation_failed': 'Introspection found a token inactive.',
  'webhook.created': 'A webhook was created.',
  'webhook.updated': 'A webhook was changed.',
  'webhook.deleted': 'A webhook was deleted.',
  'webhook.test': 'An administrator tested a webhook.',
};

export const eventTypes = Object.keys(meanings) as EventType[];

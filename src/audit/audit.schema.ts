import { type Static, Type } from 'typebox';
import { toTimestamp } from '../clock.ts';
import { Body, NextCursor, Nullable, Timestamp } from '../schema.ts';
import { actorKinds } from './actor.ts';
import { type AuditAction, type AuditEntry, auditActions, targetKinds } from './entry.ts';

const actions = Object.keys(auditActions) as AuditAction[];
const EXAMPLE_HASH = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

const Hash = Type.String({ examples: [EXAMPLE_HASH] });
const Position = Type.Integer({ description: '1, 2, 3 and so on without a gap.', examples: [42] });
const Fields = (description: string) =>
  Nullable(Type.Object({}, { additionalProperties: true, description, examples: [{ is_active: false }] }));

const EntryView = Type.Object(
  {
    position: Position,
    time: Timestamp,
    action: Type.String({ enum: actions }),
    actor: Type.Object({
      kind: Type.String({ enum: [...actorKinds] }),
      id: Nullable(Type.String({ examples: ['admin_01k0d4v3s6e8wbn7xtq5mzr2ch'] })),
      name: Type.String({
        description: 'E-mail address, name of the agent, user of the operating system, or `signet`.',
        examples: ['admin@localhost'],
      }),
    }),
    target: Type.Object({
      kind: Type.String({ enum: [...targetKinds] }),
      id: Type.String({ examples: ['agent_01k0d4v3s6e8wbn7xtq5mzr2ch'] }),
      name: Type.String({ examples: ['invoice-importer'] }),
    }),
    organization_id: Nullable(Type.String()),
    request_id: Nullable(Type.String({ description: 'The `x-request-id` of the answer.' })),
    address: Nullable(Type.String({ examples: ['203.0.113.7'] })),
    before: Fields('The members that changed, as they were. null for what was made.'),
    after: Fields('The members that changed, as they are. null for what was deleted.'),
    previous_hash: Hash,
    hash: Hash,
  },
  { title: 'AuditEntry' },
);

export const AuditQuery = Body({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 1000,
      description: 'The most that the answer holds.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({ pattern: '^[1-9][0-9]{0,14}$', description: 'The `next_cursor` of the page before.' }),
  ),
  actor_id: Type.Optional(Type.String({ maxLength: 200 })),
  action: Type.Optional(Type.String({ enum: actions })),
  target_id: Type.Optional(Type.String({ maxLength: 200 })),
  organization_id: Type.Optional(Type.String({ maxLength: 200 })),
  since: Type.Optional(Type.String({ format: 'date-time', description: 'Nothing before this.' })),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'Nothing at or after this.' })),
});
export type AuditQuery = Static<typeof AuditQuery>;

export const AuditPage = Type.Object({
  entries: Type.Array(EntryView),
  head: Type.Object(
    { position: Position, hash: Hash },
    { description: 'The newest entry of the log. Note it elsewhere: `signet audit verify --head` compares.' },
  ),
  next_cursor: NextCursor,
});

export function toEntryView(entry: AuditEntry): Static<typeof EntryView> {
  const { kind, id, name, requestId, address } = entry.actor;
  return {
    position: entry.position,
    time: toTimestamp(entry.createdAt),
    action: entry.action,
    actor: { kind, id, name },
    target: entry.target,
    organization_id: entry.organizationId,
    request_id: requestId,
    address,
    before: fromJson(entry.before),
    after: fromJson(entry.after),
    previous_hash: entry.previousHash,
    hash: entry.hash,
  };
}

const fromJson = (fields: string | null): object | null =>
  fields === null ? null : (JSON.parse(fields) as object);

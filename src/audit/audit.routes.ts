import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/database.ts';
import { ADMIN_ERRORS, errorResponses, splitPage, toPage } from '../schema.ts';
import { AuditPage, AuditQuery, toEntryView } from './audit.schema.ts';
import { type AuditFilter, findEnd, listEntries } from './audit.store.ts';
import { BEGINNING } from './chain.ts';

export const auditRoutes: FastifyPluginAsyncTypebox<{ database: Database }> = async (app, { database }) => {
  app.get(
    '/api/audit-log',
    {
      schema: {
        tags: ['audit'],
        security: [{ administrator: [] }],
        summary: 'Read who did what',
        description: 'Newest first. All filters that are sent must fit.',
        querystring: AuditQuery,
        response: { 200: AuditPage, ...errorResponses(...ADMIN_ERRORS) },
      },
    },
    async ({ query }) => {
      const { limit, cursor } = toPage(query);
      const below = cursor === null ? null : Number(cursor);
      const { position, hash } = (await findEnd(database.reader, 'head')) ?? BEGINNING;
      const found = await listEntries(database.reader, toFilter(query), { limit, below });
      const numbered = found.map((entry) => ({ ...entry, id: String(entry.position) }));
      const { items, next } = splitPage(numbered, limit);
      return { entries: items.map(toEntryView), head: { position, hash }, ...next };
    },
  );
};

function toFilter(query: AuditQuery): AuditFilter {
  return {
    ...(query.actor_id !== undefined && { actorId: query.actor_id }),
    ...(query.action !== undefined && { action: query.action }),
    ...(query.target_id !== undefined && { targetId: query.target_id }),
    ...(query.organization_id !== undefined && { organizationId: query.organization_id }),
    ...(query.since !== undefined && { since: Date.parse(query.since) }),
    ...(query.until !== undefined && { until: Date.parse(query.until) }),
  };
}

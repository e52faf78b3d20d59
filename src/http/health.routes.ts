import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { type Database, WritesRefused } from '../db/database.ts';
import { temporarilyUnavailable } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import { errorResponses } from '../schema.ts';

interface Deps {
  database: Database;
  metrics: Metrics;
  version: string;
}

const Alive = Type.Object({ status: Type.Literal('ok') });
const Health = Type.Object({
  status: Type.Literal('ok'),
  version: Type.String(),
  database: Type.Literal('ok'),
});

/** For load balancers, orchestrators and Prometheus. None of it needs credentials, none of it tells a secret. */
export const healthRoutes: FastifyPluginAsyncTypebox<Deps> = async (app, { database, metrics, version }) => {
  const tags = ['operations'];
  const security = [{}];

  for (const path of ['/health', '/readyz']) {
    app.get(
      path,
      {
        schema: {
          tags,
          security,
          summary: 'Whether requests can be served',
          description: '503 while the database does not answer, or takes no writes.',
          response: { 200: Health, ...errorResponses() },
        },
      },
      async () => {
        await database.ping().catch((cause: unknown) => {
          throw temporarilyUnavailable(cause, cause instanceof WritesRefused ? cause.message : undefined);
        });
        return { status: 'ok' as const, version, database: 'ok' as const };
      },
    );
  }

  app.get(
    '/livez',
    {
      schema: {
        tags,
        security,
        summary: 'Whether the process runs',
        description: 'Says nothing of the database: restarting the process would not mend that.',
        response: { 200: Alive, ...errorResponses() },
      },
    },
    async () => ({ status: 'ok' as const }),
  );

  app.get(
    '/metrics',
    {
      schema: {
        tags,
        security,
        summary: 'Metrics for Prometheus',
        response: {
          200: {
            description: 'The Prometheus text format.',
            content: { 'text/plain': { schema: Type.String() } },
          },
          ...errorResponses(),
        },
      },
    },
    async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()),
  );
};

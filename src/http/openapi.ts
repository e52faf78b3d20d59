import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { pathNotFound } from '../errors.ts';

/** Of the answer as it was made, those that say something of this connection and not of what is in it. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
]);

/**
 * `/openapi.json` and the page at `/docs`, of the routes that are registered after this call. What makes them is an
 * eighth of the time of a start, so it is loaded when somebody asks for them.
 */
export function serveOpenapi(app: FastifyInstance, version: string): void {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD' && route.schema?.hide !== true) routes.push(route);
  });
  let made: Promise<FastifyInstance> | null = null;
  const documentation = (): Promise<FastifyInstance> => {
    made ??= make(routes, version).catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };

  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) =>
    reply.header('access-control-allow-origin', '*').send((await documentation()).swagger()),
  );
  for (const url of ['/docs', '/docs/*']) {
    app.get(url, { schema: { hide: true } }, async (request, reply) =>
      passOn(await documentation(), request, reply),
    );
  }
}

async function make(routes: readonly RouteOptions[], version: string): Promise<FastifyInstance> {
  const { createDocumentation } = await import('./documentation.ts');
  return createDocumentation(routes, version);
}

async function passOn(
  documentation: FastifyInstance,
  { url, headers }: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const answer = await documentation.inject({ method: 'GET', url, headers });
  if (answer.statusCode === 404) throw pathNotFound();
  for (const [name, value] of Object.entries(answer.headers)) {
    if (!OF_THE_CONNECTION.has(name)) reply.header(name, value);
  }
  return reply.code(answer.statusCode).send(answer.rawPayload.length > 0 ? answer.rawPayload : undefined);
}

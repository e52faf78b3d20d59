import type { FastifyInstance, HTTPMethods } from 'fastify';
import { methodNotAllowed } from '../errors.ts';

const METHODS: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];

/**
 * Gives each path an answer to the methods that it does not have. To be called before any route is registered; the
 * function that it returns, after all of them.
 */
export function watchMethods(app: FastifyInstance): () => void {
  const urls = new Set<string>();
  app.addHook('onRoute', ({ url }) => {
    urls.add(url);
  });
  return () => {
    for (const url of [...urls]) refuseOthers(app, url);
  };
}

function refuseOthers(app: FastifyInstance, url: string): void {
  const allowed = METHODS.filter((method) => app.hasRoute({ method, url }));
  app.route({
    method: METHODS.filter((method) => !allowed.includes(method)),
    url,
    schema: { hide: true },
    // Before the body is read: its content type is not what is wrong.
    onRequest: async () => {
      throw methodNotAllowed(allowed);
    },
    handler: async () => null,
  });
}

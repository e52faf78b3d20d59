import type { FastifyInstance } from 'fastify';
import { temporarilyUnavailable } from '../errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    isAtWork: boolean;
  }
}

/** What waits for the database, a signature or another answer is a request, so this bounds all of these queues. */
const MOST_AT_WORK = 4096;
/** They need nothing that others wait for, and are asked for when there is much to do. */
const ALWAYS = new Set<string | undefined>(['/livez', '/metrics']);

/**
 * Bounds the requests that are being worked on: from when one has arrived whole, so that those who send slowly hold no
 * place, to when its answer is made, so that those who read slowly hold none either.
 */
export function limitWork(app: FastifyInstance, most: number = MOST_AT_WORK): void {
  let atWork = 0;
  app.decorateRequest('isAtWork', false);
  app.addHook('preValidation', (request, _reply, done) => {
    if (atWork >= most && !ALWAYS.has(request.routeOptions.url)) return done(temporarilyUnavailable());
    atWork += 1;
    request.isAtWork = true;
    done();
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    if (request.isAtWork) atWork -= 1;
    request.isAtWork = false;
    done(null, payload);
  });
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { networkOf } from '../admin/guess-limits.ts';
import { temporarilyUnavailable } from '../errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    isAtWork: boolean;
    /** Whose share of the scarce places it takes; null where it came while there were many. */
    sharer: string | null;
  }
}

/** What waits for the database, a signature or another answer is a request, so this bounds all of these queues. */
const MOST_AT_WORK = 4096;
/** They need nothing that others wait for, and are asked for when there is much to do. */
const ALWAYS = new Set<string | undefined>(['/livez', '/metrics']);

/**
 * Bounds the requests that are being worked on: from when one has arrived whole, so that those who send slowly hold no
 * place, to when its answer is made, so that those who read slowly hold none either. Half of the places are for whoever
 * comes first, and nobody counts. Of the other half a caller's address gets a quarter at most: one stranger cannot fill it.
 */
export function limitWork(app: FastifyInstance, most: number = MOST_AT_WORK): void {
  const plenty = Math.floor(most / 2);
  const shares = new Shares(Math.ceil((most - plenty) / 4));
  let atWork = 0;
  app.decorateRequest('isAtWork', false);
  app.decorateRequest('sharer', null);
  app.addHook('preValidation', (request, _reply, done) => {
    if (atWork >= plenty && !ALWAYS.has(request.routeOptions.url)) {
      if (atWork >= most || !shares.take(request)) return done(temporarilyUnavailable());
    }
    atWork += 1;
    request.isAtWork = true;
    done();
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    if (request.isAtWork) atWork -= 1;
    request.isAtWork = false;
    if (request.sharer !== null) shares.giveBack(request);
    done(null, payload);
  });
}

class Shares {
  readonly #mostEach: number;
  readonly #taken = new Map<string, number>();

  constructor(mostEach: number) {
    this.#mostEach = mostEach;
  }

  take(request: FastifyRequest): boolean {
    const sharer = networkOf(request.ip);
    const taken = this.#taken.get(sharer) ?? 0;
    if (taken >= this.#mostEach) return false;
    this.#taken.set(sharer, taken + 1);
    request.sharer = sharer;
    return true;
  }

  giveBack(request: FastifyRequest): void {
    const sharer = request.sharer ?? '';
    const left = (this.#taken.get(sharer) ?? 0) - 1;
    if (left > 0) this.#taken.set(sharer, left);
    else this.#taken.delete(sharer);
    request.sharer = null;
  }
}

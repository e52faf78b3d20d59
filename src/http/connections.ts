import type { Server } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import type { Clock } from '../clock.ts';

const MINUTE_MILLISECONDS = 60_000;

interface Deps {
  maxConnections: number;
  clock: Clock;
  log: FastifyBaseLogger;
}

/** Connections beyond the limit are closed as they come; the log says so once a minute. */
export function limitConnections(server: Server, { maxConnections, clock, log }: Deps): void {
  let saidAt = Number.NEGATIVE_INFINITY;
  server.maxConnections = maxConnections;
  server.on('drop', () => {
    if (clock.now() - saidAt < MINUTE_MILLISECONDS) return;
    saidAt = clock.now();
    log.warn(
      { maxConnections },
      'connections are refused: there are as many as SIGNET_MAX_CONNECTIONS allows',
    );
  });
}

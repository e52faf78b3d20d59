import Fastify from 'fastify';
import { type PeerSetup, serve } from './serve.ts';

/**
 * The ceiling of a Fastify service: it reads the body of a POST, does nothing with it, and answers the same JSON each
 * time, written by a serializer that Fastify made from its schema.
 */
serve(async ({ port, answer }: PeerSetup) => {
  const app = Fastify();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, body),
  );
  const properties = Object.fromEntries(
    Object.entries(answer).map(([name, value]) => [name, { type: typeof value }]),
  );
  const schema = { response: { 200: { type: 'object', properties } } };
  app.post('/oauth/introspect', { schema }, async () => answer);
  await app.listen({ port, host: '127.0.0.1' });
});

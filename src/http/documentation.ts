import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import Fastify, { type FastifyInstance, type FastifySchema, type RouteOptions } from 'fastify';
import { describeAccess } from './administrator-access.ts';

const description = `Machine identities and tokens: OAuth 2.0 client credentials, offline verification, immediate revocation.

Every failure is \`{"error": code, "error_description": sentence}\`. Lists are newest first, in pages by \`limit\` and \`cursor\`.`;

/** The one style that the page of Swagger UI writes in line, by its hash. */
const INLINE_STYLE = 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w=';

/** Swagger UI draws with data: images; scripts and styles come from our own files, but for one. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src 'self' '${INLINE_STYLE}'`,
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * An app that never listens: it makes the document of the schemas of these routes, and a page to read and try it,
 * Swagger UI from our own files, no foreign host.
 */
export async function createDocumentation(
  routes: readonly RouteOptions[],
  version: string,
): Promise<FastifyInstance> {
  const app = Fastify({ exposeHeadRoutes: false });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  await app.register(swagger, {
    openapi: about(version),
    transform: ({ schema, url, route }) => ({
      schema: {
        operationId: operationId(String(route.method), url),
        ...schema,
        ...forAdministrators(String(route.method), url, schema),
      },
      url,
    }),
  });
  for (const { method, url, schema } of routes) {
    app.route({ method, url, ...(schema && { schema }), handler: async () => null });
  }
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: CONTENT_SECURITY_POLICY,
    uiConfig: { deepLinking: true, docExpansion: 'list', tryItOutEnabled: true, validatorUrl: null },
    theme: {
      title: 'Signet API',
      css: [{ filename: 'signet.css', content: '.swagger-ui .topbar { display: none }' }],
    },
  });
  await app.ready();
  return app;
}

const about = (version: string): NonNullable<FastifyDynamicSwaggerOptions['openapi']> => ({
  openapi: '3.1.0',
  info: {
    title: 'Signet',
    version,
    description,
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  // Relative: the page tries the service that it came from, by whatever name it was reached.
  servers: [{ url: '/' }],
  tags: [
    { name: 'oauth', description: 'Tokens for clients and resource servers' },
    { name: 'discovery', description: 'Public keys and metadata' },
    { name: 'self-service', description: 'What an agent may do to itself' },
    { name: 'agents', description: 'Machine identities' },
    { name: 'organizations', description: 'Owners of agents and teams' },
    { name: 'teams', description: 'Groups of agents within an organization' },
    { name: 'webhooks', description: 'Who is told of events' },
    { name: 'administrators', description: 'Who manages the service, and their API keys' },
    { name: 'keys', description: 'The keys that sign tokens' },
    { name: 'audit', description: 'Who did what to what' },
    { name: 'operations', description: 'Health and metrics' },
  ],
  components: {
    securitySchemes: {
      administrator: {
        type: 'http',
        scheme: 'basic',
        description: 'An administrator’s e-mail address and password, or an API key in its place.',
      },
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        description: 'An API key of an administrator.',
      },
      accessToken: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'JWT',
        description: 'An access token.',
      },
      client: {
        type: 'http',
        scheme: 'basic',
        description: 'client_id and client_secret; or both in the body.',
      },
    },
  },
});

/** The role that a route needs, and the other way to say who one is. */
function forAdministrators(method: string, url: string, schema: FastifySchema | undefined): FastifySchema {
  const needed = describeAccess(method, url);
  if (needed === '') return {};
  return {
    description: [schema?.description, needed].filter(Boolean).join(' '),
    security: [...(schema?.security ?? []), { apiKey: [] }],
  };
}

/** `POST /api/agents/:id` becomes `post_api_agents_id`: stable names for generated clients. */
function operationId(method: string, url: string): string {
  return [method.toLowerCase(), ...url.split(/[^A-Za-z0-9]+/).filter((part) => part !== '')].join('_');
}

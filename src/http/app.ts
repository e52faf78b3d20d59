import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { administratorsRoutes } from '../admin/administrators.routes.ts';
import type { Administrators } from '../admin/administrators.ts';
import { ownAccountRoutes } from '../admin/own-account.routes.ts';
import { agentsRoutes } from '../agents/agents.routes.ts';
import { meRoutes } from '../agents/me.routes.ts';
import { organizationAgentsRoutes } from '../agents/organization-agents.routes.ts';
import { auditRoutes } from '../audit/audit.routes.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Database } from '../db/database.ts';
import type { OutageWatch } from '../db/outage-watch.ts';
import type { MasterKey } from '../encryption.ts';
import { invalidRequest, pathNotFound } from '../errors.ts';
import { jwksRoutes, keysRoutes } from '../keys/jwks.routes.ts';
import type { Metrics } from '../metrics.ts';
import type { OAuthDeps } from '../oauth/issue-tokens.ts';
import { metadataRoutes } from '../oauth/metadata.routes.ts';
import { oauthRoutes } from '../oauth/oauth.routes.ts';
import { organizationsRoutes } from '../organizations/organizations.routes.ts';
import { teamsRoutes } from '../organizations/teams.routes.ts';
import type { MakeAttempt } from '../webhooks/attempt.ts';
import { deliveriesRoutes } from '../webhooks/deliveries.routes.ts';
import type { QueueStore } from '../webhooks/queue.store.ts';
import { webhooksRoutes } from '../webhooks/webhooks.routes.ts';
import { adminAuth } from './admin-auth.ts';
import { watchAccess } from './administrator-access.ts';
import { bearerAuth } from './bearer-auth.ts';
import { readFormBodies, readJsonBodies } from './body-parsers.ts';
import { answerBrokenRequest } from './broken-request.ts';
import { limitConnections } from './connections.ts';
import { errorHandler, hardeningHeaders } from './error-handler.ts';
import type { Goodbye } from './goodbye.ts';
import { healthRoutes } from './health.routes.ts';
import { watchMethods } from './method-not-allowed.ts';
import { serveOpenapi } from './openapi.ts';
import { serializerCompiler } from './serialization.ts';
import { validatorCompiler } from './validation.ts';
import { limitWork } from './work-limit.ts';

export interface AppDeps extends OAuthDeps {
  database: Database;
  administrators: Administrators;
  masterKey: MasterKey;
  audit: AuditLog;
  queue: QueueStore;
  makeAttempt: MakeAttempt;
  metrics: Metrics;
  outages: OutageWatch;
  log: FastifyBaseLogger;
  version: string;
  scopes: readonly string[];
  isIntrospectionOpen: boolean;
  isRevocationOpen: boolean;
  hasReasons: boolean;
  maxConnections: number;
  /** How long a request may take to arrive. */
  requestSeconds: number;
  trustedProxies: readonly string[];
  goodbye: Goodbye;
}

const LARGEST_BODY = 64 * 1024;
const LARGEST_HEADER = 16 * 1024;
const MOST_HEADERS = 100;
const LONGEST_URL = 8 * 1024;
/** A header fits into a few packets; what takes longer than this is held back. */
const LONGEST_HEADER_SECONDS = 10;
/** On a connection where nothing moves, in either direction, while a request is under way. */
const SILENCE_MILLISECONDS = 60_000;
/** Node looks this often for what has taken too long. */
const CHECK_MILLISECONDS = 1000;
/** Longer than the idle time of common load balancers, which must be the ones to close. */
const KEEP_ALIVE_MILLISECONDS = 72_000;

/** The HTTP side: three scopes by who may call (anybody, administrators, agents), each with its routes. */
export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: deps.log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: LARGEST_BODY,
    requestTimeout: deps.requestSeconds * 1000,
    connectionTimeout: SILENCE_MILLISECONDS,
    keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
    return503OnClosing: false,
    // Node would answer without a body; `refuseAmbiguity` answers as for any other error.
    http: {
      requireHostHeader: false,
      maxHeaderSize: LARGEST_HEADER,
      headersTimeout: Math.min(deps.requestSeconds, LONGEST_HEADER_SECONDS) * 1000,
      connectionsCheckingInterval: CHECK_MILLISECONDS,
    },
    trustProxy: deps.trustedProxies.length > 0 && [...deps.trustedProxies],
    routerOptions: { maxParamLength: 200 },
    genReqId: (request) => requestId(request.headers['x-request-id']) ?? deps.ids.newId('req'),
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: errorHandler,
  }).withTypeProvider<TypeBoxTypeProvider>();

  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler(errorHandler);
  app.setNotFoundHandler({ preValidation: refuseUnknownPath }, refuseUnknownPath);
  readJsonBodies(app);
  app.decorate('outages', deps.outages);
  app.decorateRequest('administrator', null);
  app.decorateRequest('bearer', null);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(hardeningHeaders(request));
    refuseAmbiguity(request);
  });
  app.addHook('onError', async (_request, _reply, error) => deps.database.report(error));
  limitWork(app);
  limitConnections(app.server, deps);
  observe(app, deps.metrics);
  // RFC 9110 §10.1.1 lets an unknown expectation be ignored; Node would refuse it without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  // A connection that stays open after its last answer would hold the stop up.
  app.addHook('preClose', async () => {
    await deps.goodbye.say(app.server);
    app.server.keepAliveTimeout = 1;
  });

  const refuseOtherMethods = watchMethods(app);
  serveOpenapi(app, deps.version);

  await app.register(async (anybody) => {
    await anybody.register(healthRoutes, deps);
    await anybody.register(jwksRoutes, deps);
    await anybody.register(metadataRoutes, deps);
    await anybody.register(async (oauth) => {
      readFormBodies(oauth);
      await oauth.register(oauthRoutes, deps);
    });
  });

  await app.register(async (administrators) => {
    administrators.addHook('onRequest', adminAuth(deps.administrators));
    watchAccess(administrators, deps);
    await administrators.register(agentsRoutes, deps);
    await administrators.register(organizationAgentsRoutes, deps);
    await administrators.register(organizationsRoutes, deps);
    await administrators.register(teamsRoutes, deps);
    await administrators.register(webhooksRoutes, deps);
    await administrators.register(deliveriesRoutes, deps);
    await administrators.register(keysRoutes, deps);
    await administrators.register(auditRoutes, deps);
    await administrators.register(administratorsRoutes, deps);
    await administrators.register(ownAccountRoutes, deps);
  });

  await app.register(async (agents) => {
    agents.addHook('onRequest', bearerAuth(deps));
    await agents.register(meRoutes, deps);
  });

  refuseOtherMethods();
  await app.ready();
  return app;
}

async function refuseUnknownPath(): Promise<never> {
  throw pathNotFound();
}

/** A caller's own request id is taken over where it is short and harmless in a log. */
function requestId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && /^[\w.:-]{1,64}$/.test(header) ? header : null;
}

/** What two readers of one request could read differently, of which is too much one kind: some leave the rest out. */
function refuseAmbiguity(request: FastifyRequest): void {
  // RFC 9112 §3.2
  if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) {
    throw invalidRequest('The request has no Host header.');
  }
  const names = request.raw.rawHeaders;
  if (names.length > 2 * MOST_HEADERS)
    throw invalidRequest(`The request has more than ${MOST_HEADERS} header lines.`);
  if (request.url.length > LONGEST_URL) throw invalidRequest('The URL is longer than 8 KiB.');
  let authorizations = 0;
  for (let index = 0; index < names.length; index += 2) {
    if (names[index]?.length === 13 && names[index]?.toLowerCase() === 'authorization') authorizations += 1;
  }
  if (authorizations > 1) throw invalidRequest('The request has more than one Authorization header.');
  if (request.url.includes('%00')) throw invalidRequest('The URL holds a NUL character.');
}

function observe(app: FastifyInstance, metrics: Metrics): void {
  app.addHook('onResponse', async (request, reply) => {
    const { method } = request;
    const status = reply.statusCode;
    const route = request.routeOptions.url ?? 'none';
    metrics.observeRequest({ method, route, status }, reply.elapsedTime / 1000);
    const line = { method, route, status, ms: Math.round(reply.elapsedTime) };
    if (status < 400) request.log.debug(line, 'request');
    else if (status === 503 && app.outages.isOn) request.log.debug(line, 'request refused');
    else request.log.info(line, 'request refused');
  });
}

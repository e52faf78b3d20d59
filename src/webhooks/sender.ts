import { lookup as lookupName } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { DeadlinePassed, exchange } from './exchange.ts';
import { isAllowedAddress, type TargetPolicy } from './target.ts';
import { headersOf, type WebhookRequest } from './webhook-request.ts';

/** One exchange, as the history keeps it. */
export interface Exchange {
  /** `retryAfter` as the receiver spelt it. */
  outcome:
    | { kind: 'answered'; statusCode: number; retryAfter: string | undefined }
    | { kind: 'unanswered' }
    | { kind: 'blocked' };
  durationMs: number;
  statusCode: number | null;
  /** A few words for people; null where an answer came. */
  error: string | null;
  /** The first 16 KiB of the answer. */
  responseStart: string | null;
}

/** How a name becomes addresses: `dns.lookup`, or a test's. */
export type ResolveName = typeof lookupName;

export interface Sender {
  send(request: WebhookRequest): Promise<Exchange>;
  /** Ends what is under way and lets go of the connections. */
  close(): Promise<void>;
}

export interface SenderOptions {
  policy: TargetPolicy;
  connectionsPerReceiver: number;
}

const CONNECT_MILLISECONDS = 3000;
const KEEP_ALIVE_MILLISECONDS = 10_000;

class BlockedTarget extends Error {}

/** Its own pool of connections, none to an address that is refused: the address that is checked is the one connected to. */
export function createSender(
  { policy, connectionsPerReceiver }: SenderOptions,
  resolve: ResolveName = lookupName,
): Sender {
  const agent = new Agent({
    connections: connectionsPerReceiver,
    connect: checkedConnector(policy, resolve),
    keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
    // The exchange has a deadline of its own, for all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  return {
    async send(request) {
      const started = performance.now();
      const answer = await attempt(agent, request);
      return { ...answer, durationMs: Math.round(performance.now() - started) };
    },
    close: () => agent.destroy(),
  };
}

async function attempt(agent: Agent, request: WebhookRequest): Promise<Omit<Exchange, 'durationMs'>> {
  try {
    const { origin, pathname, search } = new URL(request.url);
    const { statusCode, retryAfter, bodyStart } = await exchange(agent, {
      origin,
      path: pathname + search,
      method: 'POST',
      headers: headersOf(request),
      body: request.signable.body,
    });
    return {
      outcome: { kind: 'answered', statusCode, retryAfter },
      statusCode,
      error: null,
      // PostgreSQL stores no NUL.
      responseStart: bodyStart.toString('utf8').replaceAll('\0', '\ufffd'),
    };
  } catch (error) {
    const isBlocked = error instanceof BlockedTarget;
    return {
      outcome: { kind: isBlocked ? 'blocked' : 'unanswered' },
      statusCode: null,
      error: explain(error),
      responseStart: null,
    };
  }
}

function checkedConnector(policy: TargetPolicy, resolve: ResolveName): buildConnector.connector {
  const connect = buildConnector({ timeout: CONNECT_MILLISECONDS, lookup: checkedLookup(policy, resolve) });
  return (options, callback) => {
    // A literal is never looked up, so it is checked here.
    const literal = options.hostname.replace(/^\[|\]$/g, '');
    if (isIP(literal) !== 0 && !isAllowedAddress(literal, policy)) callback(new BlockedTarget(), null);
    else connect(options, callback);
  };
}

/** Hands on the addresses that are allowed; where a name has none, nothing is connected to. */
function checkedLookup(policy: TargetPolicy, resolve: ResolveName): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const allowed = addresses.filter(({ address }) => isAllowedAddress(address, policy));
      const first = allowed[0];
      if (first === undefined) return callback(new BlockedTarget(), []);
      if (options.all) return callback(null, allowed);
      return callback(null, first.address, first.family);
    });
  };
}

const explanations: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  UND_ERR_DESTROYED: 'the service stopped',
  UND_ERR_SOCKET: 'connection closed before the answer',
  UND_ERR_CONNECT_TIMEOUT: 'no connection within 3 seconds',
  ENOTFOUND: 'the name does not resolve',
  EAI_AGAIN: 'the name does not resolve',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is of an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is of an unknown authority',
};

function explain(error: unknown): string {
  if (error instanceof BlockedTarget) return 'the address is not allowed';
  if (!(error instanceof Error)) return 'failed';
  if (error instanceof DeadlinePassed) return 'no whole answer within 10 seconds';
  if (error.name === 'HTTPParserError') return 'the answer is not HTTP';
  const { code } = error as NodeJS.ErrnoException;
  return explanations[code ?? ''] ?? (code === undefined ? 'failed' : `failed (${code})`);
}

import { readFileSync } from 'node:fs';
import { freePort } from '../../test/free-port.ts';
import { startJobProcess } from '../job-process.ts';
import type { LoadRequest } from '../load.ts';
import { type BenchClient, tokenRequest } from '../requests.ts';
import { THREAD_POOL } from '../server-env.ts';
import type { PeerSetup } from './serve.ts';

/** Whoever is measured: Signet or a peer, running. */
export interface Contestant {
  name: string;
  version: string;
  pid: number;
  origin: string;
  jwksPath: string;
  tokenRequests: readonly LoadRequest[];
  stop(): Promise<void>;
}

interface PeerKind {
  package: string;
  script: string;
  tokenPath: string;
  jwksPath: string;
}

/** By the name that `--peers` takes. */
export const tokenPeers: Readonly<Record<string, PeerKind>> = {
  'oidc-provider': {
    package: 'oidc-provider',
    script: './oidc-provider.ts',
    tokenPath: '/token',
    jwksPath: '/jwks',
  },
  'oauth2-server': {
    package: '@node-oauth/oauth2-server',
    script: './oauth2-server.ts',
    tokenPath: '/oauth/token',
    jwksPath: '/jwks',
  },
};

const bareFastify: PeerKind = {
  package: 'fastify',
  script: './bare-fastify.ts',
  tokenPath: '',
  jwksPath: '',
};

export async function startTokenPeer(name: string, clients: readonly BenchClient[]): Promise<Contestant> {
  const kind = tokenPeers[name];
  if (kind === undefined)
    throw new Error(`${name} is not one of the peers: ${Object.keys(tokenPeers).join(', ')}.`);
  return startPeer(kind, { clients, answer: {} });
}

/** A Fastify server that answers every POST with `answer` and does nothing else. */
export const startBareServer = (answer: object): Promise<Contestant> =>
  startPeer(bareFastify, { clients: [], answer });

async function startPeer(kind: PeerKind, told: Pick<PeerSetup, 'clients' | 'answer'>): Promise<Contestant> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const env = { NODE_ENV: 'production', ...THREAD_POOL };
  const server = startJobProcess<PeerSetup, object>(new URL(kind.script, import.meta.url), { env });
  await server.run({ port, origin, ...told });
  return {
    name: kind.package,
    version: packageVersion(kind.package),
    pid: server.pid,
    origin,
    jwksPath: kind.jwksPath,
    tokenRequests: told.clients.map(tokenRequest(kind.tokenPath)),
    stop: () => server.stop(),
  };
}

export function packageVersion(name: string): string {
  const path = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}

import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';

export const actorKinds = ['administrator', 'agent', 'command_line', 'service'] as const;
export type ActorKind = (typeof actorKinds)[number];

/** Who makes a change, and by which request where there is one. */
export interface Actor {
  kind: ActorKind;
  id: string | null;
  name: string;
  requestId: string | null;
  address: string | null;
}

/** The service by itself: nobody asked. */
export const SERVICE: Actor = { kind: 'service', id: null, name: 'signet', requestId: null, address: null };

/** Somebody with access to the machine, by the name that its operating system knows. */
export const commandLineActor = (userName: string): Actor => ({
  ...SERVICE,
  kind: 'command_line',
  name: userName,
});

/** What is known of who sent a request. */
interface Sent extends Pick<FastifyRequest, 'id' | 'ip' | 'socket' | 'bearer'> {
  administrator: { id: string; email: string } | null;
}

/** Whoever the request was authenticated as. */
export function actorOf(request: Sent): Actor {
  const way = { requestId: request.id, address: addressOf(request) };
  const { administrator, bearer } = request;
  if (administrator !== null) {
    return { kind: 'administrator', id: administrator.id, name: administrator.email, ...way };
  }
  if (bearer !== null) return { kind: 'agent', id: bearer.agentId, name: bearer.agentName, ...way };
  throw new Error('A request that nobody is known to have sent reached what changes something.');
}

/** A trusted proxy passes on what a client wrote into its header; where that is no address, the proxy's own counts. */
function addressOf(request: Pick<Sent, 'ip' | 'socket'>): string | null {
  const found = [request.ip, request.socket.remoteAddress].find((text) => isIP(text ?? '') !== 0);
  return found === undefined ? null : ipaddr.process(found).toString();
}
